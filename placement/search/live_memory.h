// LiveMemory tells what nodes need of their devices' memory while they run, following a schedule's
// window.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_LIVE_MEMORY_H_
#define GRAPHRUN_PLACEMENT_SEARCH_LIVE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "placement/problem/problem.h"
#include "placement/search/schedule.h"

namespace graphrun::placement {

/// The largest sums of tensors and workspace that devices which run one node at a time hold at
/// once, beside what they hold for the whole step: those of a Simulation where what is sent stays
/// until the step ends and nodes neither share work nor meet, else about those. In a window they
/// cost what the window has, and what comes after it counts as if it held as much more as the
/// window leaves behind. One thread.
class LiveMemory {
 public:
  explicit LiveMemory(const PlacementProblem& problem);

  /// Looks at all of the schedule, whose nodes outside its window stay as they are from now on.
  void use(const Schedule& schedule);
  /// Bytes by device, as the schedule is now. Valid until the next call.
  const std::vector<int64_t>& peaks();

 private:
  struct Device {
    int64_t live = 0;
    int64_t peak = 0;
  };

  int lastUse(int tensor) const;
  bool isOwn(int node) const;
  void run(int node, std::vector<Device>& devices) const;
  void findLastUses(int first, int last);

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const FlatGraph& flat_;
  const Schedule* schedule_ = nullptr;
  std::vector<int> lastUses_;    // by tensor: rank, or the number of nodes if it stays
  std::vector<int> crossing_;    // tensors from before the window that nodes in it read
  std::vector<Device> before_;   // what comes before the window
  std::vector<int64_t> left_;    // by device: live behind the window, when it began
  std::vector<int64_t> after_;   // by device: the peak of what comes after it, likewise
  std::vector<Device> devices_;  // scratch
  std::vector<int64_t> peaks_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_LIVE_MEMORY_H_
