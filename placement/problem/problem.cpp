#include "placement/problem/problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::placement {

absl::string_view objectiveName(Objective objective) {
  return objective == Objective::kLatency ? "latency" : "throughput";
}

namespace {

absl::Status checkSharedCores(const Cluster& cluster) {
  CoreTable cores(cluster);
  for (size_t d = 0; cores.isShared() && d < cluster.devices.size(); ++d) {
    const Device& device = cluster.devices[d];
    if (cores.isShared(static_cast<int>(d)) && (device.isOffload || device.lanes != 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "placement: ", device.name, " shares cores with other devices, so it must run one node ",
          "at a time; got ",
          device.isOffload ? "all in one call" : absl::StrCat("lanes ", device.lanes)));
    }
  }
  return absl::OkStatus();
}

/// Checks that shared work, which is done once, is done before others go on.
absl::Status checkSharedWork(const CostGraph& graph, const Cluster& cluster) {
  for (const Device& device : cluster.devices) {
    if (!graph.sharedWeights.empty() && device.isOffload) {
      return absl::InvalidArgumentError(
          absl::StrCat("placement: nodes share weights, so ", device.name,
                       " must run one node at a time; got all in one call"));
    }
    if (!(graph.shared.empty() && graph.collectives.empty()) &&
        (device.isOffload || device.lanes != 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "placement: nodes share work, so ", device.name, " must run one node at a time; got ",
          device.isOffload ? "all in one call" : absl::StrCat("lanes ", device.lanes)));
    }
  }
  return absl::OkStatus();
}

/// Searches for devices that are one call do not know what steps take to start.
absl::Status checkStepStarts(const Cluster& cluster) {
  for (const Device& device : cluster.devices) {
    if (!cluster.stepStarts.empty() && device.isOffload) {
      return absl::InvalidArgumentError(
          absl::StrCat("placement: steps take something to start, so ", device.name,
                       " must run one node at a time; got all in one call"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

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
  GR_RETURN_IF_ERROR(checkSharedCores(cluster));
  GR_RETURN_IF_ERROR(checkSharedWork(graph, cluster));
  GR_RETURN_IF_ERROR(checkStepStarts(cluster));
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
