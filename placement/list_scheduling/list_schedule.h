// A list schedule grows node by node: list heuristics try, choose and commit on it.
#ifndef GRAPHRUN_PLACEMENT_LIST_SCHEDULING_LIST_SCHEDULE_H_
#define GRAPHRUN_PLACEMENT_LIST_SCHEDULING_LIST_SCHEDULE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "placement/cost_graph/placement.h"
#include "placement/list_scheduling/core_timeline.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// A trial is the effect of placing one node on one device.
struct Trial {
  int device = 0;
  int64_t start = 0;
  int64_t finish = 0;
  /// Bytes that the device would hold at its fullest, and by how much they pass its budget (0:
  /// fits).
  int64_t peakBytes = 0;
  int64_t overBytes = 0;
  /// Weights and receive buffers that the device does not hold yet.
  int64_t fixedBytes = 0;
};

/// Nodes are committed in a topological order. Times follow the simulator's model, with transfers
/// queued in the order of commits. Memory follows the order of commits: weights of the whole unit
/// from its first node on, receive buffers, and tensors until their last consumer is committed. Not
/// synchronised.
class ListSchedule {
 public:
  /// `insertion`: a node may fill a gap between nodes of its cores (HEFT). `budget` in bytes by
  /// device.
  ListSchedule(const PlacementProblem& problem, std::vector<int64_t> budget, bool insertion);

  /// Tries `node` on each device that it may go to: one if its unit is placed already. All
  /// producers of `node` must be committed. Valid until the next call of anything.
  absl::Span<const Trial> attempt(int node);
  void commit(int node, const Trial& trial);
  /// Nodes that are committed.
  size_t count() const { return commits_.size(); }

  /// The placement when every node is committed: ranks by start time, ties by commit.
  Placement finish(const char* strategy) const;

 private:
  /// A tensor that the node which is tried reads.
  struct Reading {
    int from;                 // device that has it, or kClient
    int64_t ready;            // when it is there
    const int64_t* arrivals;  // by device
    int64_t bytes;
    int64_t receiveBytes;
    bool isMade;  // by a node, which then sends it
  };
  struct Memory {
    int64_t fixed = 0;     // weights and receive buffers
    int64_t live = 0;      // tensors made here and still needed
    int64_t peakLive = 0;  // with outputs and workspace of the node that ran
  };

  int homeOf(const CostTensor& tensor) const;
  int64_t* arrivals(int tensor) { return &arrivals_[static_cast<size_t>(tensor) * budget_.size()]; }
  void look(int node);
  Trial tryOn(int device);
  int64_t startOn(int device, int64_t ready, int64_t duration) const;
  int64_t sharedUntil(int device) const;
  int64_t send(const Reading& reading, int device);
  int64_t& freeAgain(size_t line);
  int64_t passSide(int side, int64_t bytes, int64_t from);
  void commitMemory(int node, const Trial& trial);
  bool isThere(int weights, int device) const;

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const CoreTable& cores_;
  std::vector<int64_t> budget_;
  bool insertion_;
  std::vector<int> device_;         // by node, -1 before the commit
  std::vector<int> unitDevice_;     // by unit, -1 before its first commit
  std::vector<int> commits_;        // nodes in order
  std::vector<OpTime> times_;       // by node
  std::vector<CoreTimeline> busy_;  // by core
  std::vector<int64_t> lineFree_;   // by link, then by side of an interface
  std::vector<int64_t> arrivals_;   // [tensor][device], -1: not there
  std::vector<int> users_;          // by tensor: consumers to come
  std::vector<Memory> memory_;      // by device
  std::vector<char> weightsThere_;  // [shared weights][device]

  // Of the node that is tried.
  std::vector<Reading> readings_;
  const std::vector<int64_t>* timesOf_ = nullptr;   // by device
  const SharedWork* shared_ = nullptr;              // null: its work is its own
  int64_t weightBytes_ = 0;                         // of its unit, if that is not placed yet
  std::vector<int> sharedWeights_;                  // that its unit reads, likewise
  int64_t runBytes_ = 0;                            // outputs and workspace
  std::vector<std::pair<size_t, int64_t>> queued_;  // of lineFree_: what it uses, free from when on
  std::vector<Trial> trials_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LIST_SCHEDULING_LIST_SCHEDULE_H_
