// An assignment chooses one alternative a node where neighbours' choices cost together.
#ifndef GRAPHRUN_DEVICES_COMPILER_ASSIGNMENT_H_
#define GRAPHRUN_DEVICES_COMPILER_ASSIGNMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <vector>

namespace graphrun::devices {

/// A partitioned boolean quadratic problem: each node takes one of its alternatives, so that the
/// costs of the nodes and of the edges (of a pair of alternatives) are least in sum. Choosing
/// kernels whose layouts agree is one (Anderson and Gregg, "Optimal DNN Primitive Selection with
/// Partitioned Boolean Quadratic Programming", CGO 2018).
class AssignmentProblem {
 public:
  /// A node with at least one alternative, and the cost of each (finite). Returns its number.
  uint32_t addNode(std::vector<double> costs);

  /// Adds `costs[i * alternatives of b + j]` when node `a` takes alternative i and `b`, another
  /// node, takes j. Costs of several edges between two nodes add up. Where one of them has no
  /// choice these are costs of the other.
  void addEdge(uint32_t a, uint32_t b, const std::vector<double>& costs);

  /// The alternative of each node. Nodes of at most two neighbours are taken out without loss;
  /// where there are none, the one of most neighbours takes what is locally best (Scholz and
  /// Eckstein, "Register Allocation for Irregular Architectures", LCTES 2002). Then single nodes
  /// change their mind while that helps. One use: the problem is taken apart.
  std::vector<uint32_t> solve();

 private:
  struct Node {
    std::vector<double> costs;
    /// By neighbour: cost of the pair, this node's alternative first.
    std::map<uint32_t, std::vector<double>> edges;
  };

  struct Hard {
    size_t neighbours;
    uint32_t node;
  };
  /// Orders nodes by their neighbours; of equals the first node comes first.
  struct FewerNeighbours {
    bool operator()(const Hard& a, const Hard& b) const {
      return a.neighbours != b.neighbours ? a.neighbours < b.neighbours : a.node > b.node;
    }
  };

  void addHalf(uint32_t a, uint32_t b, const std::vector<double>& costs, bool transposed);
  /// The next node to take out, none when all are.
  std::optional<uint32_t> next();
  void remove(uint32_t node);
  void foldLeaf(uint32_t node, uint32_t neighbour);
  void foldPath(uint32_t node, uint32_t a, uint32_t b);
  void fix(uint32_t node);
  /// Cost of `alternative` of `node` beside the choices of its neighbours that are made.
  double costOf(const Node& node, uint32_t alternative, const std::vector<uint32_t>& choice) const;
  void improve(const std::vector<Node>& original, std::vector<uint32_t>& choice) const;

  std::vector<Node> nodes_;
  std::set<uint32_t> easy_;  // not removed, of at most two neighbours
  /// Not removed, of more. Nodes only lose neighbours: an entry that says too many is put back.
  std::priority_queue<Hard, std::vector<Hard>, FewerNeighbours> hard_;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_ASSIGNMENT_H_
