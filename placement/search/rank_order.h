// A RankOrder is the order of all nodes, as search changes it.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_RANK_ORDER_H_
#define GRAPHRUN_PLACEMENT_SEARCH_RANK_ORDER_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "placement/cost_graph/placement.h"

namespace graphrun::placement {

/// Nodes by rank and ranks by node. Moves since the last call of keep or undo can be taken back, in
/// the time that they took. Not synchronised.
class RankOrder {
 public:
  RankOrder() = default;
  explicit RankOrder(const Placement& placement)
      : ranks_(placement.rank), nodes_(placement.order()) {}

  int rank(int node) const { return ranks_[static_cast<size_t>(node)]; }
  int nodeAt(int rank) const { return nodes_[static_cast<size_t>(rank)]; }
  /// Returns ranks by node.
  const std::vector<int>& ranks() const { return ranks_; }
  /// Returns nodes by rank.
  const std::vector<int>& nodes() const { return nodes_; }

  /// Gives the node rank `to`; those between move by one.
  void move(int node, int to) {
    before_.emplace_back(node, rank(node));
    turn(node, to);
  }
  void undo() {
    for (auto change = before_.rbegin(); change != before_.rend(); ++change) {
      turn(change->first, change->second);
    }
    before_.clear();
  }
  void keep() { before_.clear(); }

 private:
  void turn(int node, int to) {
    int from = rank(node);
    auto at = [&](int r) { return nodes_.begin() + r; };
    if (from < to) {
      std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
      std::rotate(at(to), at(from), at(from + 1));
    }
    for (int r = std::min(from, to); r <= std::max(from, to); ++r) {
      ranks_[static_cast<size_t>(nodeAt(r))] = r;
    }
  }

  std::vector<int> ranks_;
  std::vector<int> nodes_;
  std::vector<std::pair<int, int>> before_;  // node and its rank, for each move to take back
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_RANK_ORDER_H_
