#include "placement/strategies/device_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "placement/problem/placement_result.h"
#include "runtime/base/status.h"

namespace graphrun::placement {

bool WeightedProblem::applies(const PlacementProblem& problem) {
  const std::vector<Device>& devices = problem.cluster().devices;
  return std::any_of(devices.begin(), devices.end(),
                     [](const Device& device) { return device.weight != 1; });
}

absl::StatusOr<WeightedProblem> WeightedProblem::create(const PlacementProblem& problem) {
  WeightedProblem made(problem);
  made.graph_ = std::make_unique<CostGraph>(problem.graph());
  made.cluster_ = std::make_unique<Cluster>(problem.cluster());
  for (CostNode& node : made.graph_->nodes) {
    for (size_t d = 0; d < node.timeNs.size(); ++d) {
      if (node.supports(static_cast<int>(d))) {
        double weight = problem.cluster().devices[d].weight;
        node.timeNs[d] = std::llround(static_cast<double>(node.timeNs[d]) / weight);
      }
    }
  }
  for (Device& device : made.cluster_->devices) {
    device.weight = 1;
  }
  GR_ASSIGN_OR_RETURN(
      PlacementProblem weighted,
      PlacementProblem::create(*made.graph_, *made.cluster_, problem.simulator.options()));
  weighted.limits = problem.limits;
  weighted.objective = problem.objective;
  weighted.contiguous = problem.contiguous;
  weighted.search = problem.search;
  made.weighted_ = std::make_unique<PlacementProblem>(std::move(weighted));
  return made;
}

absl::StatusOr<PlacementResult> WeightedProblem::asItRuns(
    absl::StatusOr<PlacementResult> result) const {
  if (!result.ok()) {
    return result;
  }
  result->boundNs = 0;
  GR_ASSIGN_OR_RETURN(result->simulation, problem_->simulator.run(result->placement));
  return result;
}

}  // namespace graphrun::placement
