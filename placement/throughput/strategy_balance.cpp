#include <algorithm>
#include <optional>

#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/throughput/coarse_graph.h"
#include "placement/throughput/coarse_search.h"
#include "placement/throughput/throughput_searches.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Without a budget; about a second.
constexpr int64_t kMostMoves = 3'200'000;

/// The heaviest unit first, each where the most room is left.
absl::StatusOr<PlacementResult> placeByRoom(const PlacementProblem& problem) {
  const std::vector<Unit>& units = problem.constraints.units;
  std::vector<const Unit*> order;
  order.reserve(units.size());
  for (const Unit& unit : units) {
    order.push_back(&unit);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Unit* a, const Unit* b) { return a->weightBytes > b->weightBytes; });
  std::vector<int64_t> room = problem.limits;
  std::vector<int> device(problem.graph().nodes.size(), 0);
  for (const Unit* unit : order) {
    auto to = std::max_element(unit->allowed.begin(), unit->allowed.end(), [&](int a, int b) {
      return room[static_cast<size_t>(a)] < room[static_cast<size_t>(b)];
    });
    room[static_cast<size_t>(*to)] -= unit->weightBytes;
    for (int node : unit->nodes) {
      device[static_cast<size_t>(node)] = *to;
    }
  }
  GR_ASSIGN_OR_RETURN(TriedPlacement tried, tryDevices(problem, std::move(device), "balance"));
  GR_RETURN_IF_ERROR(tried.feasible);
  return std::move(tried.result);
}

/// Something to begin with, when nobody has found anything.
absl::StatusOr<PlacementResult> placeAnyhow(const PlacementProblem& problem) {
  absl::StatusOr<PlacementResult> parts = improveBySegments(problem, nullptr);
  if (parts.ok() || problem.contiguous) {
    return parts;
  }
  absl::StatusOr<PlacementResult> scattered = placeByRoom(problem);
  return scattered.ok() ? scattered : parts;
}

}  // namespace

absl::StatusOr<PlacementResult> improveByBalance(const PlacementProblem& problem,
                                                 const PlacementResult* start) {
  std::optional<PlacementResult> parts;
  if (start == nullptr) {
    GR_ASSIGN_OR_RETURN(parts, placeAnyhow(problem));
    start = &*parts;
  }
  bool staged = wantsContiguity(problem);
  CoarseGraph coarse;
  if (staged) {
    GR_ASSIGN_OR_RETURN(coarse, coarsenContiguous(problem));
  } else {
    coarse = coarsenUnits(problem);
  }
  PeriodGoal goal;
  return improveCoarse(problem, coarse, staged, goal, boundOf(problem, *start), kMostMoves, *start,
                       "balance");
}

}  // namespace graphrun::placement
