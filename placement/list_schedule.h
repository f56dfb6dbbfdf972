// A schedule that grows node by node: what the list heuristics try, choose and commit.
#ifndef GRAPHRUN_PLACEMENT_LIST_SCHEDULE_H_
#define GRAPHRUN_PLACEMENT_LIST_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "placement/placement.h"
#include "placement/problem.h"

namespace graphrun::placement {

/// What placing one node on one device would give.
struct Trial {
  int device = 0;
  int64_t start = 0;
  int64_t finish = 0;
  /// Bytes that the device would hold at its fullest, and by how much they pass its budget (0:
  /// fits).
  int64_t peakBytes = 0;
  int64_t overBytes = 0;
};

/// Nodes are committed in a topological order. Times follow the simulator's model, with transfers
/// queued in the order of commits. Memory follows the order of commits: weights of the whole unit
/// from its first node on, receive buffers, and tensors until their last consumer is committed. Not
/// synchronised.
class ListSchedule {
 public:
  /// `insertion`: a node may fill a gap between nodes of its device (HEFT). `budget` in bytes by
  /// device.
  ListSchedule(const PlacementProblem& problem, std::vector<int64_t> budget, bool insertion);

  /// Devices that `node` may go to: one if its unit is placed already.
  std::vector<int> candidates(int node) const;
  /// All producers of `node` must be committed.
  Trial attempt(int node, int device);
  void commit(int node, const Trial& trial);

  /// The placement when every node is committed: ranks by start time, ties by commit.
  Placement finish(const char* strategy) const;

 private:
  struct Busy {
    int64_t start;
    int64_t finish;
  };
  struct Memory {
    int64_t fixed = 0;     // weights and receive buffers
    int64_t live = 0;      // tensors made here and still needed
    int64_t peakLive = 0;  // with outputs and workspace of the node that ran
  };

  int homeOf(const CostTensor& tensor) const;
  int64_t& arrival(int tensor, int device);
  /// Arrival of the tensor on `device`, with a transfer queued in `linkFree` when it is not there.
  int64_t arrive(int tensor, int device, std::vector<std::pair<int, int64_t>>& linkFree);
  int64_t firstGap(int device, int64_t ready, int64_t duration) const;
  void occupy(int device, int64_t start, int64_t finish);
  int64_t newFixedBytes(int node, int device);
  void commitMemory(int node, int device);

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  std::vector<int64_t> budget_;
  bool insertion_;
  std::vector<int> device_;              // by node, -1 before the commit
  std::vector<int> unitDevice_;          // by unit, -1 before its first commit
  std::vector<int> commits_;             // nodes in order
  std::vector<OpTime> times_;            // by node
  std::vector<std::vector<Busy>> busy_;  // by device, ascending
  std::vector<int64_t> linkFree_;        // by link
  std::vector<int64_t> arrivals_;        // [tensor][device], -1: not there
  std::vector<int> users_;               // by tensor: consumers to come
  std::vector<Memory> memory_;           // by device
  std::vector<std::pair<int, int64_t>> scratch_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LIST_SCHEDULE_H_
