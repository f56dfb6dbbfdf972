// Vectors of floats for loops that compilers do not vectorise well by themselves. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_VECTOR_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_VECTOR_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace graphrun::devices::cpu {

inline constexpr int64_t kVectorLanes = 16;

/// 16 floats, whatever the machine splits them into. To be passed by reference: how they are
/// passed by value depends on the instructions that a function may use.
using Vector [[gnu::vector_size(kVectorLanes * sizeof(float))]] = float;
using HalfVector [[gnu::vector_size(kVectorLanes / 2 * sizeof(float))]] = float;
using QuarterVector [[gnu::vector_size(kVectorLanes / 4 * sizeof(float))]] = float;

[[gnu::always_inline]] inline void loadVector(const float* from, Vector& to) {
  std::memcpy(&to, from, sizeof(to));
}
[[gnu::always_inline]] inline void storeVector(const Vector& from, float* to) {
  std::memcpy(to, &from, sizeof(from));
}

/// The `width` floats at `from` in the first lanes of `to`, and `rest` in the others.
[[gnu::always_inline]] inline void loadPart(const float* from, int64_t width, float rest,
                                            Vector& to) {
  std::array<float, kVectorLanes> lanes;
#pragma omp simd
  for (int64_t i = 0; i < kVectorLanes; ++i) {
    lanes[static_cast<size_t>(i)] = i < width ? from[i] : rest;
  }
  loadVector(lanes.data(), to);
}
/// The first `width` lanes of `from`.
[[gnu::always_inline]] inline void storePart(const Vector& from, int64_t width, float* to) {
  std::array<float, kVectorLanes> lanes;
  storeVector(from, lanes.data());
#pragma omp simd
  for (int64_t i = 0; i < kVectorLanes; ++i) {
    if (i < width) {
      to[i] = lanes[static_cast<size_t>(i)];
    }
  }
}

/// `body(i)` for the constants i in [0, count): arrays stay in registers where their indices are
/// constants.
template <int64_t count, typename Body>
[[gnu::always_inline]] inline void unrolled(const Body& body) {
  [&]<int64_t... i>(std::integer_sequence<int64_t, i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int64_t, i>()), ...);
  }(std::make_integer_sequence<int64_t, count>());
}

/// All lanes combined by `combine(a, b)`, which leaves its result in a.
template <typename Combine>
[[gnu::always_inline]] inline float combineLanes(const Vector& v, const Combine& combine) {
  HalfVector half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
  HalfVector upper = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  combine(half, upper);
  QuarterVector quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3);
  QuarterVector rest = __builtin_shufflevector(half, half, 4, 5, 6, 7);
  combine(quarter, rest);
  rest = __builtin_shufflevector(quarter, quarter, 2, 3, 0, 1);
  combine(quarter, rest);
  rest = __builtin_shufflevector(quarter, quarter, 1, 0, 3, 2);
  combine(quarter, rest);
  return quarter[0];
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_VECTOR_H_
