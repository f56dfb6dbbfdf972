// CoreIndices tell which of its device's cores a core is.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_CORE_INDICES_H_
#define GRAPHRUN_PLACEMENT_SEARCH_CORE_INDICES_H_

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// Where devices share cores, a node has a turn on each core of its device; else each device is one
/// core. Immutable. The simulator must outlive it.
class CoreIndices {
 public:
  explicit CoreIndices(const Simulator& simulator) : cores_(&simulator.cores()) {
    size_t devices = cores_->isShared() ? simulator.cluster().devices.size() : 0;
    indices_.assign(devices, std::vector<int>(static_cast<size_t>(cores_->count()), -1));
    for (size_t d = 0; d < devices; ++d) {
      int count = 0;
      for (int core : of(static_cast<int>(d))) {
        indices_[d][static_cast<size_t>(core)] = count++;
      }
      more_ = std::max(more_, count - 1);
    }
  }

  int count() const { return cores_->count(); }
  absl::Span<const int> of(int device) const { return cores_->of(device); }
  /// Returns how many cores the device with the most has beside its first one.
  int more() const { return more_; }
  /// Returns which one of its device's cores it is.
  int indexOf(int device, int core) const { return more_ == 0 ? 0 : index(device, core); }
  bool has(int device, int core) const {
    return cores_->isShared() ? index(device, core) >= 0 : device == core;
  }

 private:
  int index(int device, int core) const {
    return indices_[static_cast<size_t>(device)][static_cast<size_t>(core)];
  }

  const CoreTable* cores_;
  int more_ = 0;
  std::vector<std::vector<int>> indices_;  // [device][core], -1: not its own; empty: none shares
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_CORE_INDICES_H_
