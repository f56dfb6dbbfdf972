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

}  // namespace graphrun::placement
