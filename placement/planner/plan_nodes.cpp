#include "placement/planner/plan_nodes.h"

#include <algorithm>
#include <utility>

namespace graphrun::compiler {
namespace {

class InnerNodes {
 public:
  InnerNodes(const placement::CostGraph& graph, const placement::Cluster& cluster,
             const placement::Placement& placement)
      : graph_(graph), cluster_(cluster), placement_(placement) {}

  /// Returns whether all that the node reads and makes stays on its device. The graph's inputs and
  /// outputs are no exception to that: wherever the node is, it has them.
  bool isInner(int node) const {
    const placement::CostNode& entry = graph_.node(node);
    bool reads = std::all_of(entry.inputs.begin(), entry.inputs.end(), [&](int t) {
      int producer = graph_.tensor(t).producer;
      return producer < 0 || isTogether(producer, node);
    });
    return reads && std::all_of(entry.outputs.begin(), entry.outputs.end(), [&](int t) {
             const std::vector<int>& consumers = graph_.tensor(t).consumers;
             return std::all_of(consumers.begin(), consumers.end(),
                                [&](int consumer) { return isTogether(node, consumer); });
           });
  }

 private:
  bool isTogether(int a, int b) const { return runnerOf(a) == runnerOf(b); }
  int runnerOf(int node) const {
    return cluster_.runnerOf(placement_.device[static_cast<size_t>(node)]);
  }

  const placement::CostGraph& graph_;
  const placement::Cluster& cluster_;
  const placement::Placement& placement_;
};

/// A NodeCost is a node's name in records of runs, its key for measurements, and its predicted
/// time.
struct NodeCost {
  std::string label;  // "": nothing of its own
  placement::OpKey key;
  int64_t flops = 0;
  int64_t bytes = 0;
  int64_t ns = 0;
  bool isMeasured = false;
  bool isCollective = false;  // of several devices: once on each, called as the collective
};

NodeCost costOf(const placement::GraphOfOps& graph, const placement::CollectiveGroups& collectives,
                const placement::Placement& placement, int n) {
  const placement::CostNode& node = graph.graph.node(n);
  const placement::PlacedBy placed{placement};
  if (node.collective >= 0 && collectives.isHeld(node.collective, placed)) {
    auto collective = static_cast<size_t>(node.collective);
    const std::vector<int> devices = collectives.devicesOf(node.collective, placed);
    return {collectives.isFirst(node.collective, placed, n) ? node.members.front() : "",
            placement::collectiveKey(graph.collectiveKeys[collective], devices.size()),
            0,
            graph.graph.collectives[collective].bytes,
            collectives.ns(node.collective, devices),
            collectives.isMeasured(node.collective, devices),
            true};
  }
  auto device = static_cast<size_t>(placed.device(n));
  return {node.name,
          graph.keys[static_cast<size_t>(n)],
          node.flops,
          node.bytesTouched,
          node.timeNs[device],
          node.sources[device] == placement::CostSource::kMeasured,
          false};
}

}  // namespace

std::vector<flatbuffers::Offset<format::PlanNode>> writeNodes(
    const placement::GraphOfOps& graph, const placement::CollectiveGroups& collectives,
    const placement::Cluster& cluster, const placement::Placement& placement, int device,
    const std::set<std::string>& labels, flatbuffers::FlatBufferBuilder& builder) {
  std::vector<std::pair<int, NodeCost>> nodes;
  for (int n = 0; n < graph.graph.nodeCount(); ++n) {
    if (cluster.runnerOf(placement.device[static_cast<size_t>(n)]) != device) {
      continue;
    }
    NodeCost cost = costOf(graph, collectives, placement, n);
    // A node that the device does otherwise, or as part of another node, would seem to take no
    // time.
    if (!cost.label.empty() && labels.contains(cost.label)) {
      nodes.emplace_back(n, std::move(cost));
    }
  }
  std::sort(nodes.begin(), nodes.end(), [&](const auto& a, const auto& b) {
    return placement.rank[static_cast<size_t>(a.first)] <
           placement.rank[static_cast<size_t>(b.first)];
  });
  InnerNodes inner(graph.graph, cluster, placement);
  std::vector<flatbuffers::Offset<format::PlanNode>> written;
  written.reserve(nodes.size());
  for (const auto& [n, cost] : nodes) {
    const placement::CostNode& node = graph.graph.node(n);
    auto members = node.members.empty() ? 0 : builder.CreateVectorOfStrings(node.members);
    auto label = builder.CreateString(cost.label);
    auto own = static_cast<size_t>(placement.device[static_cast<size_t>(n)]);
    auto threads =
        static_cast<uint32_t>(static_cast<int>(own) == device ? 0 : cluster.devices[own].threads);
    written.push_back(format::CreatePlanNode(builder, label, members, cost.key.signature,
                                             cost.key.family, static_cast<uint64_t>(cost.flops),
                                             static_cast<uint64_t>(cost.bytes),
                                             static_cast<uint64_t>(cost.ns), cost.isMeasured,
                                             cost.isCollective || inner.isInner(n), threads));
  }
  return written;
}

}  // namespace graphrun::compiler
