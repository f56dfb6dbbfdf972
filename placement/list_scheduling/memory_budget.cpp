#include "placement/list_scheduling/memory_budget.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/memory_limits.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

constexpr int kBudgetCuts = 6;

absl::StatusOr<PlacementResult> placeWithCuts(const PlacementProblem& problem,
                                              const BudgetedPlacer& placer) {
  std::vector<int64_t> budget = problem.limits;
  absl::Status failure;
  for (int i = 0; i < kBudgetCuts; ++i) {
    absl::StatusOr<Placement> placement = placer(budget);
    if (!placement.ok()) {
      bool first = failure.ok() || absl::IsDeadlineExceeded(placement.status());
      return first ? placement.status() : failure;
    }
    GR_ASSIGN_OR_RETURN(Simulation simulation, problem.simulator.run(*placement));
    failure = checkFeasible(problem, *placement, simulation);
    if (failure.ok()) {
      return PlacementResult{*std::move(placement), std::move(simulation)};
    }
    if (!absl::IsResourceExhausted(failure)) {
      return failure;  // less memory would not help
    }
    std::vector<int64_t> excess = excessBytes(problem, simulation);
    for (size_t d = 0; d < budget.size(); ++d) {
      budget[d] -= excess[d];
    }
  }
  return failure;
}

absl::StatusOr<Placement> placeByList(const PlacementProblem& problem, const ListRow& row,
                                      const std::vector<int64_t>& budget, const char* strategy) {
  ListSchedule schedule(problem, budget, row.insertion);
  for (int node : row.order()) {
    GR_RETURN_IF_ERROR(checkTime(problem, schedule.count()));
    absl::Span<const Trial> trials = schedule.attempt(node);
    const Trial* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const Trial& trial : trials) {
      double found = trial.overBytes > 0 ? least : row.score(node, trial);
      if (found < least) {
        best = &trial;
        least = found;
      }
    }
    if (best == nullptr) {
      return fitsNowhere(problem, node, trials, strategy);
    }
    schedule.commit(node, *best);
  }
  return schedule.finish(strategy);
}

}  // namespace

absl::Status fitsNowhere(const PlacementProblem& problem, int node, absl::Span<const Trial> trials,
                         const char* strategy) {
  auto describe = [&](std::string* out, const Trial& trial) {
    auto d = static_cast<size_t>(trial.device);
    absl::StrAppend(out, problem.cluster().devices[d].name, " would need ",
                    runtime::formatBytes(trial.peakBytes), ", limit ",
                    runtime::formatBytes(problem.limits[d]));
  };
  return absl::ResourceExhaustedError(
      absl::StrCat(strategy, ": node '", problem.graph().node(node).name,
                   "' fits on no device: ", absl::StrJoin(trials, "; ", describe)));
}

absl::Status checkTime(const PlacementProblem& problem, size_t placed) {
  constexpr size_t kNodesPerLook = 32;
  bool looks = problem.search.endNs > 0 && placed % kNodesPerLook == 0;
  return looks && runtime::nowNanos() > problem.search.endNs
             ? absl::DeadlineExceededError("the plan budget was used up")
             : absl::OkStatus();
}

absl::StatusOr<TriedPlacement> tryDevices(const PlacementProblem& problem, std::vector<int> device,
                                          const char* strategy) {
  TriedPlacement tried;
  Placement& placement = tried.result.placement;
  placement.strategy = strategy;
  placement.device = std::move(device);
  for (bool lean : {false, true}) {
    placement.setOrder(lean ? leanOrder(problem.graph())
                            : upwardRankOrder(problem, placement.device));
    GR_ASSIGN_OR_RETURN(tried.result.simulation, problem.simulator.run(placement));
    tried.feasible = checkFeasible(problem, placement, tried.result.simulation);
    if (!absl::IsResourceExhausted(tried.feasible)) {
      break;
    }
  }
  return tried;
}

absl::StatusOr<PlacementResult> placeWithinLimits(const PlacementProblem& problem,
                                                  const std::vector<BudgetedPlacer>& placers) {
  absl::StatusOr<PlacementResult> result = absl::ResourceExhaustedError("no placer");
  for (const BudgetedPlacer& placer : placers) {
    result = placeWithCuts(problem, placer);
    if (result.ok() || absl::IsDeadlineExceeded(result.status())) {
      return result;
    }
  }
  return result;
}

absl::StatusOr<PlacementResult> placeByLists(const PlacementProblem& problem, const char* strategy,
                                             const std::vector<ListRow>& rows) {
  std::vector<BudgetedPlacer> placers;
  placers.reserve(rows.size());
  for (const ListRow& row : rows) {
    placers.emplace_back([&](const std::vector<int64_t>& budget) {
      return placeByList(problem, row, budget, strategy);
    });
  }
  return placeWithinLimits(problem, placers);
}

}  // namespace graphrun::placement
