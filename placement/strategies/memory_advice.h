// The advice tells a user what to do when a graph does not fit.
#ifndef GRAPHRUN_PLACEMENT_STRATEGIES_MEMORY_ADVICE_H_
#define GRAPHRUN_PLACEMENT_STRATEGIES_MEMORY_ADVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Memory that would do, each number proved by a placement that was found and simulated.
struct MemoryAdvice {
  /// Peak of the whole graph on one device alone (pinned nodes elsewhere), by device; nothing where
  /// the device cannot run it.
  std::vector<std::optional<int64_t>> alone;
  /// The smallest common factor on all limits with which a placement was found, and its peak by
  /// device.
  std::optional<double> scale;
  std::vector<int64_t> spread;
  /// No placement can do with less in total: all weights and the largest single node.
  int64_t atLeastTotal = 0;
};

/// Searches with the `single` and `greedy` strategies; some forty placements.
MemoryAdvice adviseMemory(const PlacementProblem& problem);

/// The advice in a few lines.
std::string describeAdvice(const PlacementProblem& problem, const MemoryAdvice& advice);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STRATEGIES_MEMORY_ADVICE_H_
