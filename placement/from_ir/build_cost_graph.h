// From the IR to the cost graph: each operation of a function becomes a node.
#ifndef GRAPHRUN_PLACEMENT_FROM_IR_BUILD_COST_GRAPH_H_
#define GRAPHRUN_PLACEMENT_FROM_IR_BUILD_COST_GRAPH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "placement/cluster/cluster.h"
#include "placement/cost_graph/cost_graph.h"
#include "placement/cost_graph/measured_costs.h"

namespace graphrun::placement {

/// Why a device of `kind` cannot run the operation; empty when it can. This is all that placement
/// knows of devices besides their models.
using WhyUnsupported = std::function<std::string(absl::string_view kind, mlir::Operation* op)>;

/// DeviceKnowledge holds all that is known of the devices.
struct DeviceKnowledge {
  WhyUnsupported whyUnsupported;
  /// By device of the cluster; null where nothing was measured. Empty: nowhere.
  std::vector<const MeasuredCosts*> measured;
  /// A hash of all that changes times but is no part of an operation (precision, numerics).
  uint64_t numericsKey = 0;
  /// Devices add a product to a value that nothing else reads in the place where that lies.
  bool sumsInPlace = false;
};

/// The keys of a node's measurements.
struct OpKey {
  uint64_t signature = 0;  // opSignature, and DeviceKnowledge::numericsKey
  uint64_t family = 0;     // opFamily, and DeviceKnowledge::numericsKey
};

/// The keys of what so many devices measure of a collective that they carry out together.
OpKey collectiveKey(const OpKey& collective, size_t devices);

/// A cost graph and the operations that its nodes stand for.
struct GraphOfOps {
  CostGraph graph;                    // finished
  std::vector<mlir::Operation*> ops;  // by node; a collective for each of its steps, in their order
  std::vector<OpKey> keys;            // by node
  std::vector<OpKey>
      collectiveKeys;  // by collective of the graph: the collective's; see collectiveKey
  /// By node: its constants as the model has them, without what faster layouts take more.
  std::vector<int64_t> leastWeightBytes;

  /// The nodes of each member of a collective, with what makes its operand: best on one device, but
  /// they need not be.
  std::vector<std::vector<int>> memberGroups;

  /// For little memory: counts weights with the least that they need, and lets members be anywhere
  /// from now on. False if that changes nothing.
  bool relax();
};

/// Builds the graph of `function`, whose shapes must be static. Constants are no nodes: they are
/// copied to each device that reads them, so their bytes count as weights of their users. A
/// collective has a node for each of its steps (passes/collectives.h), with the costs and keys of
/// the operations that a step becomes; those that are done once on a device share work. Node names
/// are the operations' labels, made unique with
/// "#2", "#3" …; graph inputs come from the client and outputs go there. InvalidArgument when a
/// shape is not static.
absl::StatusOr<GraphOfOps> buildCostGraph(mlir::func::FuncOp function, const Cluster& cluster,
                                          const DeviceKnowledge& devices);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FROM_IR_BUILD_COST_GRAPH_H_
