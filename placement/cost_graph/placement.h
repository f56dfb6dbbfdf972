// A placement is the device and the rank of every node.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_PLACEMENT_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace graphrun::placement {

/// The result of a strategy. Each device runs its nodes by ascending rank. Ranks are a permutation
/// of 0 … nodes-1 that is a topological order of the whole graph: that is what keeps Send and Recv
/// from waiting for each other in a circle.
struct Placement {
  std::vector<int> device;  // by node
  std::vector<int> rank;    // by node
  std::string strategy;     // who made it: "heft"

  /// Nodes by rank; `rank` must be a permutation.
  std::vector<int> order() const {
    std::vector<int> nodes(rank.size());
    for (size_t n = 0; n < rank.size(); ++n) {
      nodes[static_cast<size_t>(rank[n])] = static_cast<int>(n);
    }
    return nodes;
  }

  /// Sets `rank` from a list of all nodes.
  void setOrder(const std::vector<int>& nodes) {
    rank.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      rank[static_cast<size_t>(nodes[i])] = static_cast<int>(i);
    }
  }
};

/// PlacedBy tells the device and rank of each node of a placement.
struct PlacedBy {
  const Placement& placement;
  int device(int node) const { return placement.device[static_cast<size_t>(node)]; }
  int rank(int node) const { return placement.rank[static_cast<size_t>(node)]; }
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_PLACEMENT_H_
