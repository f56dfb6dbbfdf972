#include "placement/list_scheduling/core_timeline.h"

#include <algorithm>

namespace graphrun::placement {

int64_t CoreTimeline::firstStart(int64_t ready, int64_t duration) const {
  if (ready >= end()) {
    return ready;
  }
  auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), ready,
                              [](const Gap& g, int64_t time) { return g.end < time; });
  if (duration == 0) {  // the last gap has no end
    return gap->begin <= ready ? ready : *std::lower_bound(ends_.begin(), ends_.end(), ready);
  }
  while (std::max(ready, gap->begin) + duration > gap->end) {
    ++gap;
  }
  return std::max(ready, gap->begin);
}

void CoreTimeline::occupy(int64_t start, int64_t finish) {
  ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), finish), finish);
  auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), finish,
                              [](const Gap& g, int64_t time) { return g.end < time; });
  if (gap->begin > start) {
    return;  // no time between two others
  }
  Gap before{gap->begin, start};
  gap->begin = finish;
  if (gap->begin == gap->end) {
    gap = gaps_.erase(gap);
  }
  if (before.begin < before.end) {
    gaps_.insert(gap, before);
  }
}

}  // namespace graphrun::placement
