#include "placement/problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::placement {

absl::string_view objectiveName(Objective objective) {
  return objective == Objective::kLatency ? "latency" : "throughput";
}

absl::StatusOr<PlacementProblem> PlacementProblem::create(const CostGraph& graph,
                                                          const Cluster& cluster,
                                                          SimulatorOptions options) {
  size_t devices = cluster.devices.size();
  if (devices == 0) {
    return absl::InvalidArgumentError(
        "placement: the cluster has no device; give `devices` to a worker or ask the workers for "
        "them");
  }
  bool finished = graph.topologicalOrder.size() == graph.nodes.size();
  for (const CostNode& node : graph.nodes) {
    finished = finished && node.timeNs.size() == devices;
  }
  if (!finished) {
    return absl::InvalidArgumentError(absl::StrCat(
        "placement: the cost graph was not finished for the cluster's ", devices, " devices"));
  }
  GR_ASSIGN_OR_RETURN(Constraints constraints, resolveConstraints(graph, cluster));
  PlacementProblem problem{
      Simulator(graph, cluster, options), std::move(constraints), {}, {}, {}, {}};
  for (const Device& device : cluster.devices) {
    problem.limits.push_back(device.memoryBytes > 0 ? device.memoryBytes : kUnlimited);
  }
  return problem;
}

bool transfersAreFree(const PlacementProblem& problem) {
  int64_t most = 0;
  for (const CostTensor& tensor : problem.graph().tensors) {
    most = std::max(most, tensor.bytes);
  }
  const std::vector<LinkInfo>& links = problem.simulator.links().links();
  return std::all_of(links.begin(), links.end(),
                     [&](const LinkInfo& link) { return link.model.transferNs(most) == 0; });
}

}  // namespace graphrun::placement
