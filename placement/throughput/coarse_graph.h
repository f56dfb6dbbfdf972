// A coarse graph joins the nodes that searches for throughput and calls move as one, and has the
// tensors between.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_GRAPH_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_GRAPH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "placement/cost_graph/flat_graph.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Nodes that go to one device together.
struct CoarseNode {
  std::vector<int> nodes;    // ascending
  std::vector<int> allowed;  // devices, ascending
  int64_t weightBytes = 0;
};

/// A tensor that may cross devices.
struct CoarseTensor {
  int tensor = 0;
  int producer = -1;           // coarse node, -1: a graph input
  std::vector<int> consumers;  // other coarse nodes, ascending
};

/// A graph as coarse nodes. Immutable.
struct CoarseGraph {
  std::vector<int> of;  // by node
  std::vector<CoarseNode> nodes;
  std::vector<CoarseTensor> tensors;
  IntLists touching;  // by coarse node: positions in `tensors`
  /// By coarse node: those that may not be left to it, and those that it may not be left to, where
  /// the nodes of each device have to be contiguous; see `coarsenContiguous`.
  IntLists before;
  IntLists after;

  int count() const { return static_cast<int>(nodes.size()); }
  const CoarseNode& node(int id) const { return nodes[static_cast<size_t>(id)]; }

  /// The devices of the nodes, each coarse node on `device`[node].
  std::vector<int> deviceByNode(const std::vector<int>& device) const;
};

/// Returns whether calls, which backward nodes take part in too, or the problem itself want
/// contiguity.
bool wantsContiguity(const PlacementProblem& problem);

/// The units of the constraints.
CoarseGraph coarsenUnits(const PlacementProblem& problem);

/// Units, those merged that wait for each other: then consecutive parts of each order in which all
/// `before` comes first are contiguous, in whichever way they are dealt out to devices. Backward
/// nodes do not count, except where there are calls. FailedPrecondition if merged units may share
/// no device.
absl::StatusOr<CoarseGraph> coarsenContiguous(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_GRAPH_H_
