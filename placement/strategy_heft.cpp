// HEFT. Source: Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002.
#include "placement/heuristics.h"
#include "placement/memory_budget.h"
#include "placement/orders.h"
#include "placement/placement_result.h"

namespace graphrun::placement {

absl::StatusOr<PlacementResult> placeHeft(const PlacementProblem& problem) {
  std::vector<int> order = upwardRankOrder(problem);
  // Without insertion the schedule knows its memory better; in program order it needs less of it.
  return placeWithinLimits(problem,
                           {[&](const auto& budget) {
                              return placeEarliestFinish(problem, order, budget, true, "heft");
                            },
                            [&](const auto& budget) {
                              return placeEarliestFinish(problem, order, budget, false, "heft");
                            },
                            [&](const auto& budget) {
                              return placeEarliestFinish(problem, problem.graph().topologicalOrder,
                                                         budget, false, "heft");
                            }});
}

}  // namespace graphrun::placement
