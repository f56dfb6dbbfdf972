// What searches for throughput and calls move as one, and the tensors between.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_PIECES_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_PIECES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "placement/cost_graph/flat_graph.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Nodes that go to one device together.
struct Piece {
  std::vector<int> nodes;    // ascending
  std::vector<int> allowed;  // devices, ascending
  int64_t weightBytes = 0;
};

/// A tensor that may cross devices.
struct PieceTensor {
  int tensor = 0;
  int producer = -1;           // piece, -1: a graph input
  std::vector<int> consumers;  // other pieces, ascending
};

/// A graph as pieces. Immutable.
struct Pieces {
  std::vector<int> of;  // by node
  std::vector<Piece> pieces;
  std::vector<PieceTensor> tensors;
  IntLists touching;  // by piece: positions in `tensors`
  /// By piece: those that may not be left to it, and those that it may not be left to, where the
  /// nodes of each device have to be contiguous; see `contiguousPieces`.
  IntLists before;
  IntLists after;

  int count() const { return static_cast<int>(pieces.size()); }
  const Piece& piece(int id) const { return pieces[static_cast<size_t>(id)]; }

  /// The devices of the nodes, each piece on `device`[piece].
  std::vector<int> deviceByNode(const std::vector<int>& device) const;
};

/// Whether calls, which backward nodes take part in too, or the problem itself want contiguity.
bool wantsContiguity(const PlacementProblem& problem);

/// The units of the constraints.
Pieces unitPieces(const PlacementProblem& problem);

/// Units, those merged that wait for each other: then consecutive parts of each order in which all
/// `before` comes first are contiguous, in whichever way they are dealt out to devices. Backward
/// nodes do not count, except where there are calls. FailedPrecondition if merged units may share
/// no device.
absl::StatusOr<Pieces> contiguousPieces(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_PIECES_H_
