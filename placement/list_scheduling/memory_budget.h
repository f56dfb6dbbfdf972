// Memory is a hard constraint here around heuristics that only estimate it.
#ifndef GRAPHRUN_PLACEMENT_LIST_SCHEDULING_MEMORY_BUDGET_H_
#define GRAPHRUN_PLACEMENT_LIST_SCHEDULING_MEMORY_BUDGET_H_

#include <functional>
#include <vector>

#include "placement/list_scheduling/list_schedule.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

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

/// A list heuristic gives a device this score for a node: of the devices that it fits on the one
/// with the least is taken, of equals the first.
using TrialScore = std::function<double(int node, const Trial& trial)>;

/// When the node ends there.
inline double finishOf(int, const Trial& trial) { return static_cast<double>(trial.finish); }
/// All that fits goes to the first device, the rest to the next and so on: finds room where
/// earliest-finish heuristics paint themselves into a corner.
inline double firstOfAll(int, const Trial&) { return 0; }

/// One way to make a list schedule.
struct ListRow {
  std::function<std::vector<int>()> order;  ///< asked only when it is this row's turn
  bool insertion = false;                   ///< see ListSchedule
  TrialScore score;
};

/// placeWithinLimits with list schedules, a row each.
absl::StatusOr<PlacementResult> placeByLists(const PlacementProblem& problem, const char* strategy,
                                             const std::vector<ListRow>& rows);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LIST_SCHEDULING_MEMORY_BUDGET_H_
