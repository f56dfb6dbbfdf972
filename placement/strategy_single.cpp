#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/contiguity.h"
#include "placement/orders.h"
#include "placement/strategy.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Every unit on `device`, pinned ones where they are pinned.
absl::StatusOr<Placement> allOn(const PlacementProblem& problem, int device) {
  Placement placement;
  placement.strategy = "single";
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    const Unit& unit = problem.constraints.unit(n);
    if (!unit.pinned && !unit.allows(device)) {
      const std::string& name = problem.cluster().devices[static_cast<size_t>(device)].name;
      int blocker = n;
      for (int member : unit.nodes) {
        blocker = problem.graph().node(member).supports(device) ? blocker : member;
      }
      return absl::FailedPreconditionError(
          absl::StrCat(name, " cannot run '", problem.graph().node(blocker).name,
                       "': ", problem.graph().node(blocker).whyUnsupported(device)));
    }
    placement.device.push_back(unit.pinned ? unit.allowed[0] : device);
  }
  return placement;
}

/// In program order, else in the order that needs the least memory.
absl::StatusOr<PlacementResult> placeOn(const PlacementProblem& problem, int device) {
  GR_ASSIGN_OR_RETURN(Placement placement, allOn(problem, device));
  placement.setOrder(problem.graph().topologicalOrder);
  GR_ASSIGN_OR_RETURN(Simulation simulation, problem.simulator.run(placement));
  absl::Status fits = checkFeasible(problem, placement, simulation);
  if (!fits.ok()) {
    placement.setOrder(leanOrder(problem.graph()));
    GR_ASSIGN_OR_RETURN(simulation, problem.simulator.run(placement));
    GR_RETURN_IF_ERROR(checkFeasible(problem, placement, simulation));
  }
  return PlacementResult{std::move(placement), std::move(simulation)};
}

}  // namespace

absl::StatusOr<PlacementResult> placeSingle(const PlacementProblem& problem) {
  std::optional<PlacementResult> best;
  std::vector<std::string> reasons;
  bool memory = false;
  for (int device = 0; device < problem.deviceCount(); ++device) {
    absl::StatusOr<PlacementResult> result = placeOn(problem, device);
    if (!result.ok()) {
      memory = memory || absl::IsResourceExhausted(result.status());
      reasons.emplace_back(result.status().message());
    } else if (!best.has_value() ||
               problem.objectiveNs(result->simulation) < problem.objectiveNs(best->simulation)) {
      best = *std::move(result);
    }
  }
  if (best.has_value()) {
    return *std::move(best);
  }
  std::string message =
      absl::StrCat("single: no device can run the whole graph: ", absl::StrJoin(reasons, "; "));
  return memory ? absl::ResourceExhaustedError(message) : absl::FailedPreconditionError(message);
}

}  // namespace graphrun::placement
