// Between looks at something that cannot be waited for. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_PAUSE_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_PAUSE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "runtime/base/clock.h"

namespace graphrun::devices::cuda {

/// Stays awake for as long as asleep threads take to wake; then sleeps a sixteenth of what was
/// waited so far, so that nobody waits much longer than needed, and at most a millisecond.
class Pause {
 public:
  void take() const {
    const int64_t waited = runtime::nowNanos() - begin_;
    if (waited > kAwakeNanos) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(waited / 16, kLongestNanos)));
    }
  }

 private:
  static constexpr int64_t kAwakeNanos = 100'000;
  static constexpr int64_t kLongestNanos = 1'000'000;
  const int64_t begin_ = runtime::nowNanos();
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_PAUSE_H_
