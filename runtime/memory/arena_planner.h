// The arena planner decides where buffers with known lifetimes lie in one arena.
#ifndef GRAPHRUN_RUNTIME_MEMORY_ARENA_PLANNER_H_
#define GRAPHRUN_RUNTIME_MEMORY_ARENA_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"

namespace graphrun::runtime {

/// A buffer that is live from the step that first uses it to the one that last uses it, both
/// included. Steps are positions in the execution order of one device.
struct ArenaBuffer {
  uint64_t bytes = 0;
  uint32_t firstUse = 0;
  uint32_t lastUse = 0;  // >= firstUse
};

/// Offsets of all buffers, multiples of kTensorAlignment.
struct ArenaPlan {
  std::vector<uint64_t> offsets;  // one a buffer, in the order given
  uint64_t arenaBytes = 0;        // multiple of kTensorAlignment
  uint64_t lowerBound = 0;        // most bytes live at one step: no plan is smaller
};

/// Plans an arena: buffers that are live at the same step never overlap. `aliases` are pairs of
/// positions that must share their offset (the input and output of an operation in place); buffers
/// joined by aliases, directly or through others, are one buffer from the first use of any to the
/// last use of any, as large as the largest.
///
/// Several greedy packings are tried, buffers ordered by first use, size, size times lifetime,
/// lifetime, each with the lowest and with the tightest gap that fits, and the smallest arena is
/// kept (greedy by size: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
/// Inference", 2020); fewer of them where thousands of buffers are live at once (arena_packing.h).
/// The result is never larger than the sum of all buffers. Takes some 10 ms for 10,000 short
/// lifetimes, at most a second for 50,000 of any; the result depends on the arguments alone.
/// Fails with InvalidArgument for a lifetime that ends before it begins, an alias out of range, or
/// sizes that add up to more than 2^62.
absl::StatusOr<ArenaPlan> planArena(absl::Span<const ArenaBuffer> buffers,
                                    absl::Span<const std::pair<uint32_t, uint32_t>> aliases = {});

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_MEMORY_ARENA_PLANNER_H_
