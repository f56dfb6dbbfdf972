// Branches, ends, barriers and shuffles.
#include <bit>

#include "tests/devices/cuda/simulator/ptx_lanes.h"

namespace graphrun::testing::ptx {
namespace {

using Role = Pattern::Role;

/// Which lane is read, and whether it is one of the segment.
struct Source {
  uint32_t lane;
  bool isInside;
};

/// `limits`: the segment's mask in bits 8 to 12, the clamp in bits 0 to 4.
constexpr auto kUp = [](uint32_t lane, uint32_t by, uint32_t limits) {
  uint32_t mask = limits >> 8 & 31;
  auto first = static_cast<int>((lane & mask) | (limits & 31 & ~mask));
  int from = static_cast<int>(lane) - static_cast<int>(by);
  return Source{static_cast<uint32_t>(from), from >= first};
};
constexpr uint32_t lastOf(uint32_t lane, uint32_t limits) {
  uint32_t mask = limits >> 8 & 31;
  return (lane & mask) | (limits & 31 & ~mask);
}
constexpr auto kDown = [](uint32_t lane, uint32_t by, uint32_t limits) {
  return Source{lane + by, lane + by <= lastOf(lane, limits)};
};
constexpr auto kButterfly = [](uint32_t lane, uint32_t by, uint32_t limits) {
  return Source{lane ^ by, (lane ^ by) <= lastOf(lane, limits)};
};
constexpr auto kIndexed = [](uint32_t lane, uint32_t by, uint32_t limits) {
  uint32_t mask = limits >> 8 & 31;
  uint32_t from = (lane & mask) | (by & ~mask);
  return Source{from, from <= lastOf(lane, limits)};
};

/// d[|p], a, by, limits, members. Lanes outside of the segment read themselves.
template <typename F>
void shuffle(Warp& warp, const Instruction& instruction, uint32_t mask) {
  const Register* sources = instruction.operands.data() + instruction.results;
  Lanes<uint32_t> from = warp.read<uint32_t>(sources[0]);
  Lanes<uint32_t> by = warp.read<uint32_t>(sources[1]);
  Lanes<uint32_t> limits = warp.read<uint32_t>(sources[2]);
  Lanes<uint32_t> to{};
  Lanes<uint8_t> inside{};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) {
      continue;
    }
    Source source = F()(lane, by[lane] & 31, limits[lane]);
    uint32_t read = source.isInside ? source.lane : lane;
    if ((mask >> read & 1) == 0) {
      warp.fail(Fault::Kind::kDiverged, instruction, lane,
                absl::StrCat("reads lane ", read, ", which does not take part"));
      return;
    }
    to[lane] = from[read];
    inside[lane] = source.isInside ? 1 : 0;
  }
  warp.write(instruction.operands[0], to, mask);
  if (instruction.results > 1) {
    warp.write(instruction.operands[1], inside, mask);
  }
}

template <typename F>
void addShuffle(Operations& all, const std::string& name, F /*source*/) {
  Pattern bits{Role::kSource, Type::kB32};
  for (Role result : {Role::kResult, Role::kPair}) {
    all.emplace(
        name,
        Operation{
            name, {{result, Type::kB32}, bits, bits, bits, bits}, &shuffle<F>, Flow::kShuffle});
  }
}

void addFlow(Operations& all, const std::string& name, std::vector<Pattern> patterns, Flow flow) {
  all.emplace(name, Operation{name, std::move(patterns), nullptr, flow});
}

}  // namespace

void addControl(Operations& all) {
  addFlow(all, "bra", {{Role::kLabel}}, Flow::kBranch);
  addFlow(all, "bra.uni", {{Role::kLabel}}, Flow::kBranch);
  addFlow(all, "ret", {}, Flow::kExit);
  addFlow(all, "exit", {}, Flow::kExit);
  addFlow(all, "trap", {}, Flow::kTrap);
  addFlow(all, "bar.sync", {{Role::kSource, Type::kU32}}, Flow::kBarrier);
  addShuffle(all, "shfl.sync.up.b32", kUp);
  addShuffle(all, "shfl.sync.down.b32", kDown);
  addShuffle(all, "shfl.sync.bfly.b32", kButterfly);
  addShuffle(all, "shfl.sync.idx.b32", kIndexed);
}

}  // namespace graphrun::testing::ptx
