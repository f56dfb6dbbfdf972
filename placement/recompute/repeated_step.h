// A step of one device in which nodes may run more than once, and the memory that it needs.
#ifndef GRAPHRUN_PLACEMENT_RECOMPUTE_REPEATED_STEP_H_
#define GRAPHRUN_PLACEMENT_RECOMPUTE_REPEATED_STEP_H_

#include <cstdint>
#include <vector>

#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// The time in which a tensor lies in memory: from the run of its node that makes it to the last
/// reading before it is made again. Positions are those of RepeatedStep::nodes.
struct LiveRange {
  int tensor = 0;
  int begin = 0;
  std::vector<int> uses;  ///< ascending; each position once
  int end = 0;            ///< the last position at which it is live
};

/// A RepeatedStep is the list of nodes that one device runs, in order. A node that stands in it
/// again makes its tensors again, and who reads them behind that reads the new ones. Tensors that
/// come from other devices or from the client, weights and states are there for the whole step.
/// The memory is that of the simulator (memory_profile.h) for a device of one lane. One thread.
class RepeatedStep {
 public:
  /// The nodes that `placed` runs on `device`. `mayRepeat`, by node: whether it can run again.
  /// Keeps references to all of them.
  RepeatedStep(const PlacementProblem& problem, const PlacementResult& placed, int device,
               const std::vector<bool>& mayRepeat);

  int device() const { return device_; }
  const std::vector<int>& nodes() const { return nodes_; }
  size_t size() const { return nodes_.size(); }
  /// Replaces the list; it must keep the order of first runs, and have the inputs of each node
  /// before it.
  void setNodes(std::vector<int> nodes);

  /// Bytes in use while the node of each position runs, all that the device holds included.
  const std::vector<int64_t>& memory() const { return memory_; }
  /// The first position with the most memory; 0 in a list without nodes.
  int peak() const { return peak_; }
  int64_t peakBytes() const { return memory_.empty() ? base_ : memory_[at(peak_)]; }
  /// Positions with as much memory as the peak.
  int peakCount() const { return peakCount_; }

  const std::vector<LiveRange>& ranges() const { return ranges_; }
  /// The range in which a position finds a tensor that was made before it; -1: it needs none, as
  /// the tensor is there for the whole step.
  int rangeAt(int tensor, int position) const;

  /// Tensors made on this device that a node reads.
  const std::vector<int>& localInputs(int node) const { return inputs_[at(node)]; }
  int64_t bytes(int tensor) const { return bytes_[at(tensor)]; }
  int producer(int tensor) const { return problem_.graph().tensor(tensor).producer; }
  int64_t timeNs(int node) const {
    return problem_.graph().node(node).timeNs[static_cast<size_t>(device_)];
  }
  /// Returns whether the tensor may leave memory between two readings.
  bool mayLeave(int tensor) const { return mayLeave_[at(tensor)]; }
  bool mayRepeat(int node) const { return mayRepeat_[at(node)]; }
  /// The position of a node's first run among the first runs of all devices.
  int rank(int node) const { return placed_.placement.rank[at(node)]; }
  /// By position: whether the node ran before.
  std::vector<bool> repetitions() const;

 private:
  static size_t at(int index) { return static_cast<size_t>(index); }
  void addTensors();
  void findRanges();
  void sumMemory();

  const PlacementProblem& problem_;
  const PlacementResult& placed_;
  const int device_;
  const std::vector<bool>& mayRepeat_;
  int64_t base_ = 0;                      // held for the whole step
  std::vector<std::vector<int>> inputs_;  // by node
  std::vector<int64_t> bytes_;            // by tensor; 0 where it takes no memory of its own here
  std::vector<bool> stays_;               // by tensor: from its first run to the end
  std::vector<bool> mayLeave_;            // by tensor
  std::vector<int> nodes_;
  std::vector<LiveRange> ranges_;
  std::vector<std::vector<int>> rangesOf_;  // by tensor, ascending
  std::vector<int64_t> memory_;
  int peak_ = 0;
  int peakCount_ = 0;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_RECOMPUTE_REPEATED_STEP_H_
