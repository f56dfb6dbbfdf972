// Orders of pieces whose consecutive parts are contiguous.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_PIECE_ORDERS_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_PIECE_ORDERS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "placement/throughput/pieces.h"

namespace graphrun::placement {

/// Many orders of contiguous pieces, each with all `before` of a piece ahead of it: depth first,
/// breadth first, by what would cross a cut behind it, and this with more and more chance. Pieces
/// of backward nodes alone, which contiguity leaves free, stand where the way back passes, seen
/// from its end.
class PieceOrders {
 public:
  PieceOrders(const PlacementProblem& problem, const Pieces& pieces, uint64_t seed);

  std::vector<int> next();
  /// The order with a piece some places later, behind what does not depend on it, or earlier.
  std::vector<int> changed(std::vector<int> order);

 private:
  double keyOf(int piece, size_t turn);

  const Pieces& pieces_;
  IntLists follows_;           // by piece: those that it stands behind
  IntLists leads_;             // by piece: those that stand behind it
  std::vector<bool> free_;     // by piece: of backward nodes alone
  std::vector<double> opens_;  // by piece: what it adds to a cut behind it
  double spread_ = 0;          // of opens_, and of chance
  int made_ = 0;
  std::mt19937_64 random_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_PIECE_ORDERS_H_
