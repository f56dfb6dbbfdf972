#include "placement/planner/annotate_placement.h"

#include <string>

#include "ir/dialect.h"

namespace graphrun::compiler {
namespace {

/// A PlacedNode says where and when a node runs, as attributes of an operation, and what it is
/// called: what a run records tells nodes apart by it.
struct PlacedNode {
  mlir::StringAttr name;
  ir::DeviceAttr device;
  mlir::IntegerAttr rank;
  mlir::IntegerAttr threads;  // null: all of the device
};

PlacedNode placedNode(const placement::GraphOfOps& graph, const placement::Cluster& cluster,
                      const placement::Placement& placement, size_t n, mlir::MLIRContext* context) {
  auto type = mlir::IntegerType::get(context, 64);
  int device = placement.device[n];
  int runner = cluster.runnerOf(device);
  const std::string& name = cluster.devices[static_cast<size_t>(runner)].name;
  int threads = cluster.devices[static_cast<size_t>(device)].threads;
  return {mlir::StringAttr::get(context, graph.graph.node(static_cast<int>(n)).name),
          ir::DeviceAttr::get(context, name), mlir::IntegerAttr::get(type, placement.rank[n]),
          runner != device ? mlir::IntegerAttr::get(type, threads) : nullptr};
}

/// Adds what the next step of a collective needs of its node.
void annotateStep(mlir::Operation* op, const PlacedNode& node, const std::string& name) {
  mlir::MLIRContext* context = op->getContext();
  mlir::NamedAttrList entry;
  entry.set("name", node.name);
  entry.set("device", node.device);
  entry.set("rank", node.rank);
  if (node.threads) {
    entry.set("threads", node.threads);
  }
  llvm::SmallVector<mlir::Attribute> steps;
  if (auto before = op->getAttrOfType<mlir::ArrayAttr>(passes::kStepsAttr)) {
    steps.append(before.begin(), before.end());
  }
  steps.push_back(entry.getDictionary(context));
  op->setAttr(passes::kStepsAttr, mlir::ArrayAttr::get(context, steps));
  op->setLoc(mlir::NameLoc::get(mlir::StringAttr::get(context, name)));
}

}  // namespace

void annotateDevices(const placement::GraphOfOps& graph, const placement::Cluster& cluster,
                     const placement::Placement& placement) {
  for (size_t n = 0; n < graph.ops.size(); ++n) {
    mlir::Operation* op = graph.ops[n];
    PlacedNode node = placedNode(graph, cluster, placement, n, op->getContext());
    if (passes::isCollective(op)) {
      annotateStep(op, node, graph.graph.nodes[n].members.front());
      continue;
    }
    op->setAttr(ir::kDeviceAttr, node.device);
    op->setAttr(ir::kRankAttr, node.rank);
    if (node.threads) {
      op->setAttr(ir::kThreadsAttr, node.threads);
    }
    op->setLoc(mlir::NameLoc::get(node.name));
  }
}

passes::CollectiveLibraries collectiveLibraries(const placement::Cluster& cluster) {
  passes::CollectiveLibraries libraries;
  for (const placement::Device& device : cluster.devices) {
    if (!device.library.empty()) {
      libraries[device.name] = device.library;
    }
  }
  return libraries;
}

}  // namespace graphrun::compiler
