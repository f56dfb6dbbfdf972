#include "runtime/session/profile/companions.h"

#include <algorithm>

#include "runtime/format/weight_table.h"

namespace graphrun::runtime {

Companions::Companions(const format::PlanFile& plan, absl::Span<const std::string> machines)
    : busy_(format::sizeOf(plan.plan().devices())) {
  for (uint32_t d = 0; d < busy_.size(); ++d) {
    machineOf_.push_back(machines[plan.device(d).worker()]);
  }
}

double Companions::of(uint32_t device, int64_t begin, int64_t end) {
  if (!isSorted_) {
    for (std::vector<Interval>& intervals : busy_) {
      std::sort(intervals.begin(), intervals.end());
    }
    isSorted_ = true;
  }
  int64_t together = 0;
  for (uint32_t other = 0; other < busy_.size(); ++other) {
    if (other == device || machineOf_[other] != machineOf_[device]) {
      continue;
    }
    // Those of one device do not overlap, so that their ends ascend as their starts do.
    const std::vector<Interval>& intervals = busy_[other];
    auto first = std::partition_point(intervals.begin(), intervals.end(),
                                      [&](const Interval& at) { return at.second <= begin; });
    for (auto at = first; at != intervals.end() && at->first < end; ++at) {
      together += std::min(at->second, end) - std::max(at->first, begin);
    }
  }
  return end > begin ? static_cast<double>(together) / static_cast<double>(end - begin) : 0;
}

}  // namespace graphrun::runtime
