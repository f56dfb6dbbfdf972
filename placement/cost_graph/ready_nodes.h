// ReadyNodes tells which nodes could run next, while a topological order is made.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_READY_NODES_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_READY_NODES_H_

#include <vector>

#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// Counts, by node, the inputs that are still to be made. Which of the ready nodes is done next,
/// the caller decides. Keeps a reference to the graph.
class ReadyNodes {
 public:
  explicit ReadyNodes(const CostGraph& graph) : graph_(graph), missing_(graph.nodes.size(), 0) {
    for (size_t n = 0; n < missing_.size(); ++n) {
      for (int t : graph.nodes[n].inputs) {
        missing_[n] += graph.tensor(t).producer >= 0 ? 1 : 0;
      }
    }
  }

  /// Calls `visit` with each node that waits for none, ascending.
  template <typename Visit>
  void forFirst(const Visit& visit) const {
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      if (missing(n) == 0) {
        visit(n);
      }
    }
  }

  /// The node is done: calls `visit` with each that waits for no other any more.
  template <typename Visit>
  void done(int node, const Visit& visit) {
    for (int t : graph_.node(node).outputs) {
      for (int consumer : graph_.tensor(t).consumers) {
        if (--missing_[static_cast<size_t>(consumer)] == 0) {
          visit(consumer);
        }
      }
    }
  }

  int missing(int node) const { return missing_[static_cast<size_t>(node)]; }

 private:
  const CostGraph& graph_;
  std::vector<int> missing_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_READY_NODES_H_
