// Loops over OpenMP's threads, without its cost where there is little to do.
#ifndef GRAPHRUN_DEVICES_CPU_THREADING_PARALLEL_H_
#define GRAPHRUN_DEVICES_CPU_THREADING_PARALLEL_H_

#include <cstdint>

namespace graphrun::devices::cpu {

/// Work, in elements touched, that is worth waking threads for.
inline constexpr int64_t kParallelWork = 1 << 15;

/// Calls `body(i)` for i in [0, count), each of about `work` elements, in any order.
template <typename Body>
void parallelFor(int64_t count, int64_t work, const Body& body) {
  if (count < 2 || count * work < kParallelWork) {
    for (int64_t i = 0; i < count; ++i) {
      body(i);
    }
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    body(i);
  }
}

/// Calls `body(begin, end)` for ranges that make up [0, count).
template <typename Body>
void parallelRanges(int64_t count, const Body& body) {
  constexpr int64_t kRange = kParallelWork / 2;
  if (count < kParallelWork) {
    body(0, count);
    return;
  }
  int64_t ranges = (count + kRange - 1) / kRange;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < ranges; ++r) {
    int64_t end = (r + 1) * kRange;
    body(r * kRange, end < count ? end : count);
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_THREADING_PARALLEL_H_
