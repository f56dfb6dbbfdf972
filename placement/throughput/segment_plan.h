// A segment plan is the best way to cut an order of coarse nodes into one part for each device.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_SEGMENT_PLAN_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_SEGMENT_PLAN_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "placement/problem/search_limit.h"
#include "placement/throughput/coarse_graph.h"

namespace graphrun::placement {

/// Devices by coarse node, and what they were chosen for: the largest load of a device, or for
/// latency the time of all parts one after the other. Links count as if all were like one of them.
struct SegmentPlan {
  int64_t ns = 0;
  std::vector<int> device;
};

/// Dynamic programming over the parts of an order and the devices of each kind that are used up.
/// With latency as the objective, a device for any number of nodes at a time may have several parts
/// unless the problem wants contiguity. Memory is an estimate: the caller has to check it, and may
/// take off the limits what was too much.
class SegmentPlanner {
 public:
  /// `devices`, ascending, are those that may have parts, and each coarse node may go to one of
  /// them. Each counts as if it shared cores with none of the others.
  SegmentPlanner(const PlacementProblem& problem, const CoarseGraph& coarse,
                 const std::vector<int>& devices);

  /// The best plan of less than `below`; nothing if there is none or the limit ends it. Each
  /// beginning of a part is a unit of work. O(n k s) for n coarse nodes, k of them in the largest
  /// part, and s states of use of devices; cuts are tried at no more than kMostCuts positions.
  std::optional<SegmentPlan> plan(const std::vector<int>& order, int64_t below, SearchLimit& limit);
  /// Takes `bytes` off what the parts of `device` and its like may use.
  void cutLimit(int device, int64_t bytes);

  static constexpr size_t kMostCuts = 2048;

 private:
  /// Devices that are all alike to coarse nodes.
  struct Kind {
    std::vector<int> devices;
    std::vector<int64_t> timeNs;  // by coarse node, kUnsupported where it may not go
    bool port = false;
    bool again = false;  // one device may have several parts
    int lanes = 1;
    double speed = 0;  // beside the fastest device for the coarse node that it is best for
    int64_t limit = 0;

    bool alike(const Kind& other) const;
  };
  /// A part more on a device of a kind.
  struct Step {
    int kind;  // -1: a device is left out
    int next;  // state
  };
  struct Crossing {
    int64_t portNs;
    int64_t linkNs;
    int64_t bytes;         // of the tensor
    int64_t receiveBytes;  // where it comes in
    int readers;           // consumers, the world outside included
  };
  /// A part as it grows.
  struct Part {
    int64_t portNs = 0;
    int64_t linkNs = 0;
    int64_t weightBytes = 0;
    int64_t receiveBytes = 0;
    int64_t liveBytes = 0;
    int64_t peakBytes = 0;
    std::vector<int64_t> busyNs;  // by kind
    std::vector<bool> can;        // by kind
  };
  struct Origin {
    int cut = -1;
    int state = -1;
    int kind = -1;
  };

  void addKinds(const std::vector<int>& devices);
  void addSpeeds();
  void addStates();
  void addCapacities();
  void addCrossings();
  void placeCuts(const std::vector<int>& order);
  bool extend(Part& part, int from, int at, int64_t below);
  void touch(Part& part, int tensor, int sign) const;
  int64_t costOf(const Part& part, size_t kind) const;
  void relax(const Part& part, size_t from, size_t to);
  void skipDevice(size_t state, size_t cut);
  bool canEnd(size_t state, size_t cut, int64_t below) const;
  void growFrom(size_t from, int64_t below);
  SegmentPlan trace(size_t state) const;

  size_t slot(size_t state, size_t cut) const { return state * cuts_.size() + cut; }

  const PlacementProblem& problem_;
  const CoarseGraph& coarse_;
  bool sum_;  // of parts, rather than the largest
  std::vector<Kind> kinds_;
  std::vector<std::vector<Step>> steps_;  // by state
  std::vector<double> capacity_;          // by state: lanes that are left, in those of the fastest
  std::vector<int64_t> fastestNs_;        // by coarse node
  std::vector<int64_t> left_;             // by cut: fastest times of what is behind
  std::vector<size_t> alive_;             // states that the part at hand may begin in
  std::vector<Crossing> crossings_;       // by tensor of coarse_
  std::vector<int64_t> transient_;        // by coarse node: bytes while it runs
  std::vector<int> order_;
  std::vector<int> position_;         // by coarse node: in the order
  std::vector<int> lastUse_;          // by tensor: position of the last coarse node that touches it
  std::vector<int> cuts_;             // positions, from 0 to the number of coarse nodes
  std::vector<int64_t> best_;         // by state and cut
  std::vector<Origin> origin_;        // by state and cut
  std::vector<int64_t> costs_;        // by kind, of the part at hand
  std::vector<int> inside_;           // by tensor: readers in the part
  std::vector<bool> producerInside_;  // by tensor
  std::vector<int> touched_;          // tensors
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_SEGMENT_PLAN_H_
