// What the passes behind placement need to know of it.
#ifndef GRAPHRUN_FRONTENDS_COMPILER_ANNOTATE_PLACEMENT_H_
#define GRAPHRUN_FRONTENDS_COMPILER_ANNOTATE_PLACEMENT_H_

#include "passes/collectives.h"
#include "placement/build_cost_graph.h"
#include "placement/placement.h"

namespace graphrun::compiler {

/// Writes the placement into the operations: device, rank, threads where not all, and what their
/// nodes are called. A collective gets them of all its steps, and the name that pins of all its
/// members match.
void annotateDevices(const placement::GraphOfOps& graph, const placement::Cluster& cluster,
                     const placement::Placement& placement);

/// What carries out collectives on the cluster's devices.
passes::CollectiveLibraries collectiveLibraries(const placement::Cluster& cluster);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_FRONTENDS_COMPILER_ANNOTATE_PLACEMENT_H_
