// Companions are the devices of a machine that compute while another one does.
#ifndef GRAPHRUN_RUNTIME_SESSION_PROFILE_COMPANIONS_H_
#define GRAPHRUN_RUNTIME_SESSION_PROFILE_COMPANIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/format/plan_file.h"

namespace graphrun::runtime {

/// The times at which devices of a plan computed. Add all, then look. Not thread-safe.
class Companions {
 public:
  /// `machines`: the machine of each worker of the plan. The plan must outlive it.
  Companions(const format::PlanFile& plan, absl::Span<const std::string> machines);

  /// A device computed from `begin` to `end`, of one clock for all.
  void add(uint32_t device, int64_t begin, int64_t end) {
    busy_[device].emplace_back(begin, end);
    isSorted_ = false;
  }
  /// Returns how many other devices of its machine computed from `begin` to `end`, on the average.
  double of(uint32_t device, int64_t begin, int64_t end);

 private:
  using Interval = std::pair<int64_t, int64_t>;

  std::vector<std::string> machineOf_;       // by device
  std::vector<std::vector<Interval>> busy_;  // by device
  bool isSorted_ = true;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PROFILE_COMPANIONS_H_
