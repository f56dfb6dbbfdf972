// Units of a problem that are to share a device although nothing forces them to.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_UNIT_JOINER_H_
#define GRAPHRUN_PLACEMENT_SEARCH_UNIT_JOINER_H_

#include <vector>

#include "placement/cost_graph/disjoint_sets.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Joins units into larger ones. The problem must outlive it. One thread.
class UnitJoiner {
 public:
  explicit UnitJoiner(const PlacementProblem& problem);

  /// The unit that stands for all that this one was joined with.
  int root(int unit) { return sets_.root(unit); }
  /// False, and nothing is done, if no device may have both.
  bool join(int a, int b);
  /// The units as they are now.
  Constraints joined();

 private:
  const std::vector<int>& allowed(int root) const;

  const CostGraph& graph_;
  const Constraints& constraints_;
  DisjointSets sets_;                      // of units
  std::vector<std::vector<int>> allowed_;  // by root; empty: the unit's own
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_UNIT_JOINER_H_
