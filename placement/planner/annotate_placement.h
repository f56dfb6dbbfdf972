// Annotations on operations tell the passes behind placement what they need to know of it.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_ANNOTATE_PLACEMENT_H_
#define GRAPHRUN_PLACEMENT_PLANNER_ANNOTATE_PLACEMENT_H_

#include "passes/collectives.h"
#include "placement/cost_graph/placement.h"
#include "placement/from_ir/build_cost_graph.h"

namespace graphrun::compiler {

/// Writes the placement into the operations: device, rank, threads where not all, and what their
/// nodes are called. A collective gets them of all its steps, and the name that pins of all its
/// members match.
void annotateDevices(const placement::GraphOfOps& graph, const placement::Cluster& cluster,
                     const placement::Placement& placement);

/// Returns the libraries for collectives of the cluster's devices.
passes::CollectiveLibraries collectiveLibraries(const placement::Cluster& cluster);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_ANNOTATE_PLACEMENT_H_
