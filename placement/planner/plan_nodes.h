// A plan keeps its nodes' names and costs, so that what a run recorded can be told apart by node.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_PLAN_NODES_H_
#define GRAPHRUN_PLACEMENT_PLANNER_PLAN_NODES_H_

#include <set>
#include <string>
#include <vector>

#include "placement/cost_graph/placement.h"
#include "placement/from_ir/build_cost_graph.h"
#include "placement/simulator/collective_groups.h"
#include "runtime/format/plan_generated.h"

namespace graphrun::compiler {

/// The nodes that `placement` puts on `device`, in their order there, of which there are
/// operations: `labels` are the names of the device's.
std::vector<flatbuffers::Offset<format::PlanNode>> writeNodes(
    const placement::GraphOfOps& graph, const placement::CollectiveGroups& collectives,
    const placement::Cluster& cluster, const placement::Placement& placement, int device,
    const std::set<std::string>& labels, flatbuffers::FlatBufferBuilder& builder);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_PLAN_NODES_H_
