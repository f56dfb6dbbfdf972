#include <random>

#include "placement/list_scheduling/orders.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "placement/strategies/strategy.h"
#include "runtime/base/status.h"

namespace graphrun::placement {

absl::StatusOr<PlacementResult> placeRandom(const PlacementProblem& problem, uint64_t seed) {
  std::mt19937_64 random(seed);
  Placement placement;
  placement.strategy = "random";
  placement.device.resize(static_cast<size_t>(problem.graph().nodeCount()));
  for (const Unit& unit : problem.constraints.units) {
    int device = unit.allowed[random() % unit.allowed.size()];
    for (int node : unit.nodes) {
      placement.device[static_cast<size_t>(node)] = device;
    }
  }
  placement.setOrder(upwardRankOrder(problem, placement.device));
  absl::Status valid = validatePlacement(problem, placement);
  if (!valid.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the random placement of seed ", seed, ": ", valid.message()));
  }
  GR_ASSIGN_OR_RETURN(Simulation simulation, problem.simulator.run(placement));
  return PlacementResult{std::move(placement), std::move(simulation)};
}

}  // namespace graphrun::placement
