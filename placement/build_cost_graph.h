// From the IR to the cost graph: each operation of a function becomes a node.
#ifndef GRAPHRUN_PLACEMENT_BUILD_COST_GRAPH_H_
#define GRAPHRUN_PLACEMENT_BUILD_COST_GRAPH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "placement/cluster.h"
#include "placement/cost_graph.h"

namespace graphrun::placement {

/// Why a device of `kind` cannot run the operation; empty when it can. This is all that placement
/// knows of devices besides their models.
using WhyUnsupported = std::function<std::string(DeviceKind kind, mlir::Operation* op)>;

/// A cost graph and the operations that its nodes stand for.
struct GraphOfOps {
  CostGraph graph;                    // finished
  std::vector<mlir::Operation*> ops;  // by node
};

/// Builds the graph of `function`, whose shapes must be static. Constants are no nodes: they are
/// copied to each device that reads them, so their bytes count as weights of their users. Node
/// names are the operations' labels, made unique with "#2", "#3" …; graph inputs come from the
/// client and outputs go there. InvalidArgument when a shape is not static.
absl::StatusOr<GraphOfOps> buildCostGraph(mlir::func::FuncOp function, const Cluster& cluster,
                                          const WhyUnsupported& whyUnsupported);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_BUILD_COST_GRAPH_H_
