#include "placement/problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::placement {

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
  PlacementProblem problem{Simulator(graph, cluster, options), std::move(constraints), {}};
  for (const Device& device : cluster.devices) {
    problem.limits.push_back(device.memoryBytes > 0 ? device.memoryBytes : kUnlimited);
  }
  return problem;
}

int64_t fastestNs(const PlacementProblem& problem, int node) {
  int64_t best = kUnlimited;
  for (int device : problem.constraints.unit(node).allowed) {
    best = std::min(best, problem.graph().node(node).timeNs[static_cast<size_t>(device)]);
  }
  return best;
}

LowerBounds lowerBounds(const PlacementProblem& problem) {
  const CostGraph& graph = problem.graph();
  LowerBounds bounds;
  std::vector<int64_t> finish(graph.nodes.size(), 0);
  int64_t total = 0;
  for (int n : graph.topologicalOrder) {
    int64_t start = 0;
    for (int t : graph.node(n).inputs) {
      int producer = graph.tensor(t).producer;
      start = std::max(start, producer < 0 ? 0 : finish[static_cast<size_t>(producer)]);
    }
    int64_t ns = fastestNs(problem, n);
    total += ns;
    finish[static_cast<size_t>(n)] = start + ns;
    bounds.criticalPathNs = std::max(bounds.criticalPathNs, start + ns);
  }
  bounds.workNs = (total + problem.deviceCount() - 1) / problem.deviceCount();
  return bounds;
}

}  // namespace graphrun::placement
