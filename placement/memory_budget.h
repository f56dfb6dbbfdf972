// Memory as a hard constraint around heuristics that only estimate it.
#ifndef GRAPHRUN_PLACEMENT_MEMORY_BUDGET_H_
#define GRAPHRUN_PLACEMENT_MEMORY_BUDGET_H_

#include <functional>
#include <vector>

#include "placement/list_schedule.h"
#include "placement/placement_result.h"
#include "placement/problem.h"

namespace graphrun::placement {

/// Places within the given bytes by device; ResourceExhausted when a node fits nowhere.
using BudgetedPlacer = std::function<absl::StatusOr<Placement>(const std::vector<int64_t>& budget)>;

/// Runs the placers in turn until one's placement stays within the limits in the simulator and is
/// contiguous where it has to be. One that exceeds the limits is run again with its budget cut by
/// the excess, a few times. Returns the last failure when all fail.
absl::StatusOr<PlacementResult> placeWithinLimits(const PlacementProblem& problem,
                                                  const std::vector<BudgetedPlacer>& placers);

/// ResourceExhausted: what each device that `node` was tried on would need.
absl::Status fitsNowhere(const PlacementProblem& problem, int node, absl::Span<const Trial> trials,
                         const char* strategy);

/// OK, or DeadlineExceeded when SearchOptions::endNs is over. Looks at the clock for some of the
/// `placed` nodes only.
absl::Status checkTime(const PlacementProblem& problem, size_t placed);

/// A placement, its prediction, and whether it is an answer (see checkFeasible).
struct TriedPlacement {
  PlacementResult result;
  absl::Status feasible;
};

/// Nodes on these devices, ranked upwards or, where that does not fit, so that they need the least
/// memory. An error where devices would wait for each other.
absl::StatusOr<TriedPlacement> tryDevices(const PlacementProblem& problem, std::vector<int> device,
                                          const char* strategy);

/// The devices in turn: all that fits goes to the first, the rest to the next and so on, nodes in
/// the given topological order. Finds room where earliest-finish heuristics paint themselves into a
/// corner.
absl::StatusOr<Placement> placeFirstFit(const PlacementProblem& problem,
                                        const std::vector<int>& order,
                                        const std::vector<int64_t>& budget, const char* strategy);

/// Each node of `order` on the device with the least score among those that it fits on.
using TrialScore = std::function<double(int node, const Trial& trial)>;
absl::StatusOr<Placement> placeByScore(const PlacementProblem& problem,
                                       const std::vector<int>& order,
                                       const std::vector<int64_t>& budget, bool insertion,
                                       const TrialScore& score, const char* strategy);

/// Each node of `order` where it finishes first among the devices that it fits on.
absl::StatusOr<Placement> placeEarliestFinish(const PlacementProblem& problem,
                                              const std::vector<int>& order,
                                              const std::vector<int64_t>& budget, bool insertion,
                                              const char* strategy);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_MEMORY_BUDGET_H_
