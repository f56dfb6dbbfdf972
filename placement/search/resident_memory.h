// Resident memory is weights and receive buffers by device, and follows moves of nodes.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_RESIDENT_MEMORY_H_
#define GRAPHRUN_PLACEMENT_SEARCH_RESIDENT_MEMORY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "placement/cost_graph/shared_weights.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// ResidentMemory counts what a device holds for the whole step: a lower bound of its peak that
/// costs a search little. One thread.
class ResidentMemory {
 public:
  ResidentMemory(const PlacementProblem& problem, const Placement& placement);

  /// Returns whether some limit is below all that could ever be on a device.
  static bool mayBind(const PlacementProblem& problem);

  void move(int node, int device);
  /// No device holds more than its limit.
  bool fits() const;
  int64_t bytes(int device) const { return bytes_[static_cast<size_t>(device)]; }
  /// Takes back the moves since the last keep, or makes them permanent.
  void undo();
  void keep() { moved_.clear(); }

 private:
  void place(int node, int device);
  void count(int tensor, int64_t sign);

  const PlacementProblem& problem_;
  std::vector<int> device_;                 // by node
  std::vector<int64_t> bytes_;              // by device
  std::vector<std::pair<int, int>> moved_;  // node, and where it was
  SharedWeightCounts weights_;
  std::vector<int> seen_;  // by device: the last count that met it
  int counts_ = 0;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_RESIDENT_MEMORY_H_
