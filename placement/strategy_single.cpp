#include <algorithm>
#include <optional>
#include <tuple>

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

/// Whether all that there is comes from the client and may go anywhere: then devices differ only by
/// what `alike` compares.
bool isFree(const PlacementProblem& problem) {
  const std::vector<Unit>& units = problem.constraints.units;
  const std::vector<CostTensor>& tensors = problem.graph().tensors;
  return std::none_of(units.begin(), units.end(), [](const Unit& unit) { return unit.pinned; }) &&
         std::all_of(tensors.begin(), tensors.end(), [](const CostTensor& tensor) {
           return tensor.inputHome == kClient && tensor.outputHome == kClient;
         });
}

bool alike(const PlacementProblem& problem, int a, int b) {
  const LinkTable& links = problem.simulator.links();
  auto traits = [&](int d) {
    const Device& device = problem.cluster().devices[static_cast<size_t>(d)];
    const LinkModel& in = links.link(links.id(kClient, d)).model;
    const LinkModel& out = links.link(links.id(d, kClient)).model;
    return std::tuple(problem.limits[static_cast<size_t>(d)], device.hasPort, device.oneCall,
                      device.lanes, in.latencyNs, in.bytesPerSecond, in.queues, out.latencyNs,
                      out.bytesPerSecond, out.queues);
  };
  const std::vector<CostNode>& nodes = problem.graph().nodes;
  return traits(a) == traits(b) && std::all_of(nodes.begin(), nodes.end(), [&](const CostNode& n) {
           return n.timeNs[static_cast<size_t>(a)] == n.timeNs[static_cast<size_t>(b)];
         });
}

}  // namespace

absl::StatusOr<PlacementResult> placeSingle(const PlacementProblem& problem) {
  std::optional<PlacementResult> best;
  std::vector<std::string> reasons;
  bool memory = false;
  std::vector<int> done;  // devices that can, of several alike the first
  bool free = isFree(problem);
  for (int device = 0; device < problem.deviceCount(); ++device) {
    bool known = free && std::any_of(done.begin(), done.end(),
                                     [&](int other) { return alike(problem, device, other); });
    if (known) {
      continue;
    }
    absl::StatusOr<PlacementResult> result = placeOn(problem, device);
    if (!result.ok()) {
      memory = memory || absl::IsResourceExhausted(result.status());
      reasons.emplace_back(result.status().message());
      continue;
    }
    done.push_back(device);
    if (!best.has_value() ||
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
