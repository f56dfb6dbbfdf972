#include <algorithm>
#include <optional>

#include "placement/list_scheduling/heuristics.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Returns, of the devices that the unit may go to, the one that is done with it first.
int fastestFor(const PlacementProblem& problem, const Unit& unit) {
  auto timeOn = [&](int device) {
    int64_t sum = 0;
    for (int node : unit.nodes) {
      sum += problem.graph().node(node).timeNs[static_cast<size_t>(device)];
    }
    return sum;
  };
  return *std::min_element(unit.allowed.begin(), unit.allowed.end(),
                           [&](int a, int b) { return timeOn(a) < timeOn(b); });
}

bool canHaveAll(const PlacementProblem& problem, int device) {
  const std::vector<Unit>& units = problem.constraints.units;
  return std::all_of(units.begin(), units.end(),
                     [&](const Unit& unit) { return unit.pinned || unit.allows(device); });
}

}  // namespace

absl::StatusOr<PlacementResult> placeOn(const PlacementProblem& problem, int device) {
  std::vector<int> devices(problem.graph().nodes.size(), device);
  for (const Unit& unit : problem.constraints.units) {
    int to = unit.allows(device) ? device : fastestFor(problem, unit);
    for (int node : unit.nodes) {
      devices[static_cast<size_t>(node)] = to;
    }
  }
  GR_ASSIGN_OR_RETURN(TriedPlacement tried, tryDevices(problem, std::move(devices), "most"));
  GR_RETURN_IF_ERROR(tried.feasible);
  return std::move(tried.result);
}

bool isForMost(const PlacementProblem& problem) {
  for (int device = 0; device < problem.deviceCount(); ++device) {
    if (!canHaveAll(problem, device)) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<PlacementResult> placeMost(const PlacementProblem& problem) {
  std::optional<PlacementResult> best;
  absl::Status failure;
  for (int device = 0; device < problem.deviceCount(); ++device) {
    absl::StatusOr<PlacementResult> found = placeOn(problem, device);
    if (!found.ok()) {
      failure = found.status();
    } else if (!best.has_value() ||
               problem.objectiveNs(found->simulation) < problem.objectiveNs(best->simulation)) {
      best = *std::move(found);
    }
  }
  return best.has_value() ? absl::StatusOr<PlacementResult>(*std::move(best)) : failure;
}

}  // namespace graphrun::placement
