#include <algorithm>
#include <optional>

#include "placement/bounds/lower_bounds.h"
#include "placement/cost_file_searches/cost_file_searches.h"
#include "placement/cost_file_searches/offload_bound.h"
#include "placement/cost_file_searches/offload_times.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/throughput/coarse_orders.h"
#include "placement/throughput/coarse_search.h"
#include "placement/throughput/segment_plan.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Beginnings of calls that are looked at for a placement to begin with: for each coarse node, and
/// in all.
constexpr int64_t kPartsPerNode = 100;
constexpr int64_t kMostNodeParts = 60'000;
/// Moves without a budget, times nodes that each looks at.
constexpr int64_t kMostVisits = 400'000'000;

/// The best of many orders cut into calls as if all ran one after the other.
absl::StatusOr<PlacementResult> bestCut(const PlacementProblem& problem, const CoarseGraph& coarse,
                                        std::optional<PlacementResult> best, SearchLimit& limit) {
  SegmentPlanner planner(problem, coarse, problem.simulator.cores().devicesApart().front());
  CoarseOrders orders(problem, coarse, problem.search.seed);
  absl::Status failure = absl::ResourceExhaustedError(
      "calls: no way was found to cut the graph into calls within the limits");
  while (!limit.spent()) {
    std::optional<SegmentPlan> plan = planner.plan(orders.next(), kUnlimited, limit);
    if (!plan.has_value()) {
      continue;
    }
    GR_ASSIGN_OR_RETURN(TriedPlacement tried,
                        tryDevices(problem, coarse.deviceByNode(plan->device), "calls"));
    if (!tried.feasible.ok()) {
      failure = tried.feasible;
    } else if (!best.has_value() || tried.result.simulation.stepNs < best->simulation.stepNs) {
      best = std::move(tried.result);
    }
  }
  return best.has_value() ? absl::StatusOr<PlacementResult>(*std::move(best)) : failure;
}

}  // namespace

absl::StatusOr<PlacementResult> improveOffload(const PlacementProblem& problem,
                                               const PlacementResult* start) {
  GR_ASSIGN_OR_RETURN(CoarseGraph coarse, coarsenContiguous(problem));
  std::optional<PlacementResult> known;
  if (start != nullptr) {
    known = *start;
  }
  const int64_t begin = runtime::nowNanos();
  SearchLimit limit(problem.search, std::min(kPartsPerNode * coarse.count(), kMostNodeParts));
  GR_ASSIGN_OR_RETURN(PlacementResult best, bestCut(problem, coarse, std::move(known), limit));
  if (limit.isCut()) {
    return best;
  }
  int64_t bound = std::max(boundOf(problem, best), offloadPathBound(problem));
  OffloadGoal goal(problem, coarse, best.simulation.stepNs);
  PlacementProblem rest = problem;
  if (problem.search.budgetNs > 0) {
    rest.search.budgetNs =
        std::max<int64_t>(1, begin + problem.search.budgetNs - runtime::nowNanos());
  }
  GR_ASSIGN_OR_RETURN(best,
                      improveCoarse(rest, coarse, false, goal, bound,
                                    kMostVisits / problem.graph().nodeCount(), best, "calls"));
  best.boundNs = bound;
  return best;
}

}  // namespace graphrun::placement
