// How long to sleep in a wait that comes again and again. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_WAIT_TIME_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_WAIT_TIME_H_

#include <algorithm>
#include <cstdint>

namespace graphrun::devices::cuda {

/// A WaitTime learns how long a wait usually takes, as that for the end of a step, of which one is
/// like the other. A thread that the driver wakes is some 80 us late, which is a tenth of a step of
/// a millisecond; one that never sleeps takes a core. So a thread sleeps until shortly before the
/// usual end, and looks again and again from then on. Not synchronised.
class WaitTime {
 public:
  /// ns to sleep at the beginning.
  int64_t sleepNanos() const { return usual_ < kShortNanos ? 0 : usual_ - kEarlyNanos; }
  /// ns from the beginning on for which the thread is awake, if it sleeps no more. A wait that
  /// takes longer is an unusual one, which is left to the driver.
  int64_t awakeNanos() const { return usual_ + usual_ / 8 + kEarlyNanos; }

  /// Notes that a wait took `nanos`; `overslept`: it was over when the thread looked first after
  /// its sleep. One long wait makes the next one's sleep little longer, and a sleep that was too
  /// long makes the next one a quarter shorter.
  void note(int64_t nanos, bool overslept) {
    if (overslept) {
      usual_ -= usual_ / 4;
    } else if (usual_ == 0 || nanos < usual_) {
      usual_ = nanos;
    } else {
      usual_ += std::min((nanos - usual_) / 4, std::max(usual_ / 8, kEarlyNanos));
    }
  }

 private:
  static constexpr int64_t kEarlyNanos = 150'000;  // what a timer and a scheduler may be late by
  static constexpr int64_t kShortNanos = 2 * kEarlyNanos;  // not worth a sleep

  int64_t usual_ = 0;  // ns; 0: unknown
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_WAIT_TIME_H_
