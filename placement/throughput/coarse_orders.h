// Orders of coarse nodes whose consecutive parts are contiguous.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_ORDERS_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_ORDERS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "placement/throughput/coarse_graph.h"

namespace graphrun::placement {

/// Many orders of contiguous coarse nodes, each with all `before` of a coarse node ahead of it:
/// depth first, breadth first, by what would cross a cut behind it, and this with more and more
/// chance. CoarseGraph of backward nodes alone, which contiguity leaves free, stand where the way
/// back passes, seen from its end.
class CoarseOrders {
 public:
  CoarseOrders(const PlacementProblem& problem, const CoarseGraph& coarse, uint64_t seed);

  std::vector<int> next();
  /// The order with a coarse node some positions later, behind what does not depend on it, or
  /// earlier.
  std::vector<int> changed(std::vector<int> order);

 private:
  double keyOf(int coarseNode, size_t turn);

  const CoarseGraph& coarse_;
  IntLists follows_;           // by coarse node: those that it stands behind
  IntLists leads_;             // by coarse node: those that stand behind it
  std::vector<bool> free_;     // by coarse node: of backward nodes alone
  std::vector<double> opens_;  // by coarse node: what it adds to a cut behind it
  double spread_ = 0;          // of opens_, and of chance
  int made_ = 0;
  std::mt19937_64 random_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_ORDERS_H_
