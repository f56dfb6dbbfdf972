#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/formats/placement_file.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "placement/strategies/strategy.h"
#include "runtime/base/status.h"

namespace graphrun::placement {

absl::StatusOr<PlacementResult> placeFromJson(const PlacementProblem& problem,
                                              absl::string_view json, absl::string_view fileName) {
  GR_ASSIGN_OR_RETURN(FilePlacement file, readPlacementFile(problem, json, fileName));
  Placement placement;
  placement.device = std::move(file.device);
  placement.strategy = "file";
  // A device that cannot run a node has no time to rank by: validation reports it in program order.
  bool supported = true;
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    supported =
        supported && problem.graph().node(n).supports(placement.device[static_cast<size_t>(n)]);
  }
  if (file.order.size() == problem.graph().nodes.size()) {
    placement.setOrder(file.order);
  } else {
    placement.setOrder(supported ? upwardRankOrder(problem, placement.device)
                                 : problem.graph().topologicalOrder);
  }
  absl::Status valid = validatePlacement(problem, placement);
  if (!valid.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(fileName, ": ", valid.message()));
  }
  GR_ASSIGN_OR_RETURN(Simulation simulation, problem.simulator.run(placement));
  return PlacementResult{std::move(placement), std::move(simulation)};
}

}  // namespace graphrun::placement
