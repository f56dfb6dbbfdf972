#include "runtime/memory/arena_planner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

// Buffers joined by aliases, or a single one.
struct Block {
  uint64_t bytes = 0;  // multiple of the alignment
  uint32_t first = std::numeric_limits<uint32_t>::max();
  uint32_t last = 0;
};

enum class Fit { kLowest, kTightest };

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

// Blocks that have a place, found by step. Steps are put into at most kBuckets buckets, and a block
// is listed in each that it touches: a short lifetime is compared with its neighbours in time only.
class Timeline {
 public:
  explicit Timeline(const std::vector<Block>& blocks) : blocks_(blocks), seen_(blocks.size()) {
    uint32_t end = 0;
    for (const Block& block : blocks) {
      end = std::max(end, block.last);
    }
    width_ = end / kBuckets + 1;
    buckets_.resize(end / width_ + 1);
  }

  void add(uint32_t index) {
    const Block& block = blocks_[index];
    for (uint32_t b = block.first / width_; b <= block.last / width_; ++b) {
      buckets_[b].push_back(index);
    }
  }

  // The added blocks that are live at some step of block `index`, each once.
  void collect(uint32_t index, std::vector<uint32_t>& found) {
    const Block& block = blocks_[index];
    found.clear();
    for (uint32_t b = block.first / width_; b <= block.last / width_; ++b) {
      for (uint32_t other : buckets_[b]) {
        bool live = blocks_[other].first <= block.last && block.first <= blocks_[other].last;
        if (live && seen_[other] != index + 1) {
          seen_[other] = index + 1;
          found.push_back(other);
        }
      }
    }
  }

 private:
  static constexpr uint32_t kBuckets = 512;

  const std::vector<Block>& blocks_;
  uint32_t width_ = 1;
  std::vector<std::vector<uint32_t>> buckets_;
  std::vector<uint32_t> seen_;  // index + 1 of the last block that found it
};

// The offset for `bytes` among neighbours sorted by offset.
uint64_t choose(const std::vector<Block>& blocks, const std::vector<uint64_t>& offsets,
                const std::vector<uint32_t>& neighbours, uint64_t bytes, Fit fit) {
  uint64_t end = 0;  // of what lies below
  uint64_t best = 0;
  uint64_t bestGap = std::numeric_limits<uint64_t>::max();
  for (uint32_t other : neighbours) {
    if (offsets[other] > end) {
      uint64_t gap = offsets[other] - end;
      if (gap >= bytes && gap < bestGap) {
        best = end;
        bestGap = gap;
        if (fit == Fit::kLowest) {
          return best;
        }
      }
    }
    end = std::max(end, offsets[other] + blocks[other].bytes);
  }
  return bestGap == std::numeric_limits<uint64_t>::max() ? end : best;
}

// Places the blocks in the given order; returns the size of the arena.
uint64_t pack(const std::vector<Block>& blocks, const std::vector<uint32_t>& order, Fit fit,
              std::vector<uint64_t>& offsets) {
  Timeline placed(blocks);
  std::vector<uint32_t> neighbours;
  uint64_t size = 0;
  offsets.assign(blocks.size(), 0);
  for (uint32_t index : order) {
    if (blocks[index].bytes == 0) {
      continue;
    }
    placed.collect(index, neighbours);
    std::sort(neighbours.begin(), neighbours.end(),
              [&](uint32_t a, uint32_t b) { return offsets[a] < offsets[b]; });
    offsets[index] = choose(blocks, offsets, neighbours, blocks[index].bytes, fit);
    size = std::max(size, offsets[index] + blocks[index].bytes);
    placed.add(index);
  }
  return size;
}

uint64_t mostLive(const std::vector<Block>& blocks) {
  struct Change {
    uint64_t step;
    bool begins;
    uint64_t bytes;
  };
  std::vector<Change> changes;
  for (const Block& block : blocks) {
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

using Before = std::function<bool(const Block&, const Block&)>;

std::vector<Before> packingOrders() {
  auto length = [](const Block& b) { return uint64_t{b.last} - b.first + 1; };
  auto area = [length](const Block& b) {
    return static_cast<double>(b.bytes) * static_cast<double>(length(b));
  };
  return {
      [](const Block& a, const Block& b) { return a.bytes > b.bytes; },
      [area](const Block& a, const Block& b) { return area(a) > area(b); },
      [length](const Block& a, const Block& b) {
        return length(a) != length(b) ? length(a) > length(b) : a.bytes > b.bytes;
      },
      [](const Block& a, const Block& b) {
        return a.first != b.first ? a.first < b.first : a.bytes > b.bytes;
      },
  };
}

struct Packing {
  std::vector<uint64_t> offsets;
  uint64_t bytes = std::numeric_limits<uint64_t>::max();
};

Packing bestPacking(const std::vector<Block>& blocks, uint64_t lowerBound) {
  Packing best;
  std::vector<uint64_t> offsets;
  for (const Before& before : packingOrders()) {
    std::vector<uint32_t> order(blocks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return before(blocks[a], blocks[b]); });
    for (Fit fit : {Fit::kTightest, Fit::kLowest}) {
      if (best.bytes == lowerBound) {
        return best;
      }
      if (uint64_t bytes = pack(blocks, order, fit, offsets); bytes < best.bytes) {
        best = {offsets, bytes};
      }
    }
  }
  return best;
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
  std::vector<Block> blocks;
  std::vector<uint32_t> blockOf(buffers.size(), std::numeric_limits<uint32_t>::max());
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    uint32_t& index = blockOf[findRoot(parents, i)];
    if (index == std::numeric_limits<uint32_t>::max()) {
      index = static_cast<uint32_t>(blocks.size());
      blocks.emplace_back();
    }
    Block& block = blocks[index];
    block.bytes = std::max<uint64_t>(block.bytes, alignTensor(buffers[i].bytes));
    block.first = std::min(block.first, buffers[i].firstUse);
    block.last = std::max(block.last, buffers[i].lastUse);
  }
  ArenaPlan plan;
  plan.lowerBound = mostLive(blocks);
  Packing packing = bestPacking(blocks, plan.lowerBound);
  plan.arenaBytes = blocks.empty() ? 0 : packing.bytes;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    plan.offsets.push_back(packing.offsets[blockOf[findRoot(parents, i)]]);
  }
  return plan;
}

}  // namespace graphrun::runtime
