#include "placement/heuristics.h"
#include "placement/memory_budget.h"
#include "placement/orders.h"
#include "placement/placement_result.h"

namespace graphrun::placement {

absl::StatusOr<PlacementResult> placeGreedy(const PlacementProblem& problem) {
  const std::vector<int>& order = problem.graph().topologicalOrder;
  return placeWithinLimits(
      problem, {[&](const auto& budget) {
                  return placeEarliestFinish(problem, order, budget, false, "greedy");
                },
                [&](const auto& budget) { return placeFirstFit(problem, order, budget, "greedy"); },
                [&](const auto& budget) {
                  return placeFirstFit(problem, leanOrder(problem.graph()), budget, "greedy");
                }});
}

}  // namespace graphrun::placement
