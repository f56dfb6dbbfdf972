// The transforms of Winograd's minimal filtering F(m x m, 3 x 3), one dim at a time: the result of
// m + 2 elements d and 3 taps g is A^T [(G g) * (B^T d)] (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016). Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_TRANSFORM_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_TRANSFORM_H_

#include <array>

#include "devices/cpu/vectors/vector.h"

namespace graphrun::devices::cpu {

template <int64_t size>
using Line = std::array<Vector, size>;

/// As many numbers of f64: filters are transformed once, at load.
using WideVector [[gnu::vector_size(kVectorLanes * sizeof(double))]] = double;
template <int64_t size>
using WideLine = std::array<WideVector, size>;

/// For `tile` results in a line. kRoundings is the greatest number of roundings that follow each
/// other in `source` and `result` together.
template <int64_t tile>
struct WinogradTransform;

/// By the points 0, 1, -1 and infinity.
template <>
struct WinogradTransform<2> {
  static constexpr int64_t kRoundings = 1 + 2;

  /// B^T d in place.
  [[gnu::always_inline]] static void source(Line<4>& d) {
    d = {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
  }

  /// G g.
  [[gnu::always_inline]] static void filter(const WideLine<3>& g, WideLine<4>& to) {
    WideVector even = 0.5 * (g[0] + g[2]);
    WideVector odd = 0.5 * g[1];
    to = {g[0], even + odd, even - odd, g[2]};
  }

  /// A^T m.
  [[gnu::always_inline]] static void result(const Line<4>& m, Line<2>& to) {
    to = {m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
  }
};

/// By the points 0, a, -a, b, -b and infinity: with 3/4 and 3/2, which round not at all, results
/// are some three times as exact as with 1 and 2.
template <>
struct WinogradTransform<4> {
  static constexpr int64_t kRoundings = 4 + 4;

  [[gnu::always_inline]] static void source(Line<6>& d) {
    Vector evenA = d[4] - kB2 * d[2];
    Vector oddA = kA * (d[3] - kB2 * d[1]);
    Vector evenB = d[4] - kA2 * d[2];
    Vector oddB = kB * (d[3] - kA2 * d[1]);
    d = {kA2 * kB2 * d[0] - (kA2 + kB2) * d[2] + d[4],
         evenA + oddA,
         evenA - oddA,
         evenB + oddB,
         evenB - oddB,
         kA2 * kB2 * d[1] - (kA2 + kB2) * d[3] + d[5]};
  }

  [[gnu::always_inline]] static void filter(const WideLine<3>& g, WideLine<6>& to) {
    constexpr double kShareA = 1.0 / (2 * kA2 * (kA2 - kB2));
    constexpr double kShareB = 1.0 / (2 * kB2 * (kB2 - kA2));
    WideVector evenA = kShareA * (g[0] + double{kA2} * g[2]);
    WideVector oddA = (kShareA * kA) * g[1];
    WideVector evenB = kShareB * (g[0] + double{kB2} * g[2]);
    WideVector oddB = (kShareB * kB) * g[1];
    to = {(1.0 / (kA2 * kB2)) * g[0], evenA + oddA, evenA - oddA, evenB + oddB, evenB - oddB, g[2]};
  }

  [[gnu::always_inline]] static void result(const Line<6>& m, Line<4>& to) {
    Vector sumA = m[1] + m[2];
    Vector differenceA = m[1] - m[2];
    Vector sumB = m[3] + m[4];
    Vector differenceB = m[3] - m[4];
    to = {m[0] + sumA + sumB, kA * differenceA + kB * differenceB, kA2 * sumA + kB2 * sumB,
          kA * kA2 * differenceA + kB * kB2 * differenceB + m[5]};
  }

 private:
  static constexpr float kA = 0.75F;
  static constexpr float kB = 1.5F;
  static constexpr float kA2 = kA * kA;
  static constexpr float kB2 = kB * kB;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_TRANSFORM_H_
