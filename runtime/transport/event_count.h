// An event count lets threads sleep until something happened, without a lock and at no cost when
// nobody sleeps.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_EVENT_COUNT_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_EVENT_COUNT_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include "runtime/base/clock.h"

namespace graphrun::runtime {

/// The sleeper calls prepare, looks at its condition once more, calls wait or not, then done. The
/// other side changes the condition by a sequentially consistent store, then calls notify.
class EventCount {
 public:
  uint32_t prepare() {
    waiters_.fetch_add(1);
    return epoch_.load();
  }
  void done() { waiters_.fetch_sub(1); }
  bool hasWaiters() const { return waiters_.load() != 0; }

  /// Sleeps until a notify after `ticket` was taken, or `untilNanos`; may return early.
  void wait(uint32_t ticket, int64_t untilNanos) {
    int64_t left = std::max<int64_t>(untilNanos - nowNanos(), 0);
    timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                     static_cast<long>(left % 1'000'000'000)};
    syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, ticket, &timeout, nullptr, 0);
  }

  void notify() {
    if (hasWaiters()) {
      epoch_.fetch_add(1);
      syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
  }

 private:
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> waiters_{0};
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_EVENT_COUNT_H_
