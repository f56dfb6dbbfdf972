// clusterOf makes the cluster that a request is for.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_REQUEST_CLUSTER_H_
#define GRAPHRUN_PLACEMENT_PLANNER_REQUEST_CLUSTER_H_

#include "absl/status/statusor.h"
#include "placement/cluster/cluster.h"
#include "runtime/format/compiler_api_generated.h"

namespace graphrun::compiler {

/// Returns the cluster of the request with its devices, pins and limits; of this machine alone
/// where the request has no cluster.yaml. InvalidArgument or FailedPrecondition with what is wrong
/// in it.
absl::StatusOr<placement::Cluster> clusterOf(const format::PlanRequest& request);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_REQUEST_CLUSTER_H_
