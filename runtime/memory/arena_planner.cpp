#include "runtime/memory/arena_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/memory/arena_packing.h"

namespace graphrun::runtime {
namespace {

uint32_t findRoot(std::vector<uint32_t>& parents, uint32_t i) {
  while (parents[i] != i) {
    parents[i] = parents[parents[i]];
    i = parents[i];
  }
  return i;
}

absl::Status verify(absl::Span<const ArenaBuffer> buffers,
                    absl::Span<const std::pair<uint32_t, uint32_t>> aliases) {
  constexpr uint64_t kLimit = uint64_t{1} << 62;
  uint64_t sum = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].lastUse < buffers[i].firstUse) {
      return absl::InvalidArgumentError(
          absl::StrCat("arena: buffer ", i, " is last used at step ", buffers[i].lastUse,
                       ", expected not before its first use at ", buffers[i].firstUse));
    }
    if (buffers[i].bytes > kLimit || sum > kLimit - alignTensor(buffers[i].bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("arena: the first ", i + 1, " buffers take more than 2^62 bytes"));
    }
    sum += alignTensor(buffers[i].bytes);
  }
  for (const auto& [a, b] : aliases) {
    if (std::max(a, b) >= buffers.size()) {
      return absl::InvalidArgumentError(absl::StrCat("arena: alias of buffers ", a, " and ", b,
                                                     ", expected numbers below ", buffers.size()));
    }
  }
  return absl::OkStatus();
}

uint64_t mostLive(const std::vector<ArenaBlock>& blocks) {
  struct Change {
    uint64_t step;
    bool begins;
    uint64_t bytes;
  };
  std::vector<Change> changes;
  for (const ArenaBlock& block : blocks) {
    changes.push_back({block.first, true, block.bytes});
    changes.push_back({uint64_t{block.last} + 1, false, block.bytes});
  }
  // At one step the ends come first: they are of the step before.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.step != b.step ? a.step < b.step : a.begins < b.begins;
  });
  uint64_t live = 0;
  uint64_t most = 0;
  for (const Change& change : changes) {
    live = change.begins ? live + change.bytes : live - change.bytes;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

absl::StatusOr<ArenaPlan> planArena(absl::Span<const ArenaBuffer> buffers,
                                    absl::Span<const std::pair<uint32_t, uint32_t>> aliases) {
  GR_RETURN_IF_ERROR(verify(buffers, aliases));
  std::vector<uint32_t> parents(buffers.size());
  std::iota(parents.begin(), parents.end(), 0U);
  for (const auto& [a, b] : aliases) {
    parents[findRoot(parents, a)] = findRoot(parents, b);
  }
  // One block a root; blocks of other positions stay empty and are dropped.
  std::vector<ArenaBlock> blocks;
  std::vector<uint32_t> blockOf(buffers.size(), std::numeric_limits<uint32_t>::max());
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    uint32_t& index = blockOf[findRoot(parents, i)];
    if (index == std::numeric_limits<uint32_t>::max()) {
      index = static_cast<uint32_t>(blocks.size());
      blocks.emplace_back();
    }
    ArenaBlock& block = blocks[index];
    block.bytes = std::max<uint64_t>(block.bytes, alignTensor(buffers[i].bytes));
    block.first = std::min(block.first, buffers[i].firstUse);
    block.last = std::max(block.last, buffers[i].lastUse);
  }
  ArenaPlan plan;
  plan.lowerBound = mostLive(blocks);
  ArenaPacking packing = packArena(blocks, plan.lowerBound);
  plan.arenaBytes = blocks.empty() ? 0 : packing.bytes;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    plan.offsets.push_back(packing.offsets[blockOf[findRoot(parents, i)]]);
  }
  return plan;
}

}  // namespace graphrun::runtime
