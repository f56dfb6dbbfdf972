// When a core is busy, in a schedule that grows.
#ifndef GRAPHRUN_PLACEMENT_LIST_SCHEDULING_CORE_TIMELINE_H_
#define GRAPHRUN_PLACEMENT_LIST_SCHEDULING_CORE_TIMELINE_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace graphrun::placement {

/// One node at a time. In a full schedule gaps are few, so they are what is searched.
class CoreTimeline {
 public:
  /// The end of the last node.
  int64_t end() const { return gaps_.back().begin; }
  /// The earliest time from `ready` on for a node that takes `duration`; one that takes no time may
  /// run between any two others.
  int64_t firstStart(int64_t ready, int64_t duration) const;
  /// A node runs from `start` to `finish`, where nothing else does.
  void occupy(int64_t start, int64_t finish);

 private:
  struct Gap {
    int64_t begin;
    int64_t end;
  };
  std::vector<Gap> gaps_ = {{0, std::numeric_limits<int64_t>::max()}};  // ascending
  std::vector<int64_t> ends_ = {0};  // of nodes, and the begin of all, ascending
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LIST_SCHEDULING_CORE_TIMELINE_H_
