// Traces, deadlines and heartbeats use this one monotonic clock.
#ifndef GRAPHRUN_RUNTIME_BASE_CLOCK_H_
#define GRAPHRUN_RUNTIME_BASE_CLOCK_H_

#include <cstdint>
#include <ctime>

namespace graphrun::runtime {

/// Nanoseconds of CLOCK_MONOTONIC: equal for all processes of one machine.
inline int64_t nowNanos() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_CLOCK_H_
