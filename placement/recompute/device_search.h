// The search for the nodes of one device to run again.
#ifndef GRAPHRUN_PLACEMENT_RECOMPUTE_DEVICE_SEARCH_H_
#define GRAPHRUN_PLACEMENT_RECOMPUTE_DEVICE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "placement/recompute/repeated_step.h"

namespace graphrun::placement {

/// Makes nodes of a step run again until it keeps to a limit. One use, one thread.
class DeviceSearch {
 public:
  DeviceSearch(RepeatedStep& step, int64_t limit) : step_(step), limit_(limit) {}

  /// Returns whether the step keeps to the limit now. If not, it is the one of the least peak that
  /// was found.
  bool run();

 private:
  /// A tensor that could leave memory between two readings, and what would run for that.
  struct Option {
    int range = 0;           ///< of the step
    int before = 0;          ///< position of the reading for which it is made again
    std::vector<int> again;  ///< nodes to run there, in order
    double gain = 0;         ///< excess bytes that it takes away, by ns, for each ns that it takes
  };

  bool fits() const { return step_.peakBytes() <= limit_; }
  bool evictOne();
  bool evictSegments();
  void dropLaterOnes(const Option& option);
  void dropNeedless();

  std::vector<Option> optionsAt(int peak) const;
  void addOption(int range, int peak, bool mayStay, std::vector<Option>& options) const;
  int64_t collect(int peak, bool mayStay, Option& option) const;
  double excessIn(int from, int to, int64_t bytes) const;
  std::vector<int> with(const Option& option) const;
  bool tryNodes(std::vector<int> nodes);

  RepeatedStep& step_;
  const int64_t limit_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_RECOMPUTE_DEVICE_SEARCH_H_
