// Disjoint sets of ids only grow together.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_DISJOINT_SETS_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_DISJOINT_SETS_H_

#include <numeric>
#include <vector>

namespace graphrun::placement {

/// Each id is a set of its own at first, and each set has one of its ids as root. One thread.
class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int root(int id) {
    while (parent(id) != id) {
      id = parent(id) = parent(parent(id));
    }
    return id;
  }
  /// Joins the sets of two roots; `root` is that of both.
  void join(int other, int root) { parent(other) = root; }

 private:
  int& parent(int id) { return parent_[static_cast<size_t>(id)]; }

  std::vector<int> parent_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_DISJOINT_SETS_H_
