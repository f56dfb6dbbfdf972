#include "devices/cpu/kernels/plane_sums.h"

#include <array>

#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Vectors of positions that are summed at once where `left` are left.
constexpr int64_t vectorsFor(int64_t left) {
  return left <= kVectorLanes ? 1 : left <= kVectorLanes * 2 ? 2 : kSumPositions / kVectorLanes;
}

/// `count` rows over some vectors of positions.
template <int64_t count, int64_t vectors>
[[gnu::always_inline]] inline void sumTile(const PlaneSums& s, const float* from,
                                           int64_t planeStride, const float* weights,
                                           const float* bias, float* rows, int64_t stride) {
  std::array<std::array<Vector, vectors>, count> sums;
  unrolled<count>([&](auto r) __attribute__((always_inline)) {
    unrolled<vectors>([&](auto v)
                          __attribute__((always_inline)) { sums[r][v] = Vector{} + bias[r]; });
  });
  for (int64_t p = 0; p < s.planes; ++p, from += planeStride, weights += s.planeWeights) {
    for (const PlaneSums::Tap& tap : s.taps) {
      std::array<Vector, vectors> x;
      unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
        loadVector(from + tap.offset + v * kVectorLanes, x[v]);
      });
      unrolled<count>([&](auto r) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
          sums[r][v] += weights[tap.weight + r] * x[v];
        });
      });
    }
  }
  unrolled<count>([&](auto r) __attribute__((always_inline)) {
    unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
      storeVector(sums[r][v], rows + r * stride + v * kVectorLanes);
    });
  });
}

/// All positions of `count` rows; few that are left over take narrower tiles.
template <int64_t count>
[[gnu::always_inline]] inline void sumRows(const PlaneSums& s, const float* from,
                                           int64_t planeStride, const float* weights,
                                           const float* bias, int64_t positions, float* rows,
                                           int64_t stride) {
  constexpr int64_t kVectors = kSumPositions / kVectorLanes;
  for (int64_t i = 0; i < positions; i += kSumPositions) {
    int64_t vectors = vectorsFor(positions - i);
    if (vectors == 1) {
      sumTile<count, 1>(s, from + i, planeStride, weights, bias, rows + i, stride);
    } else if (vectors == 2) {
      sumTile<count, 2>(s, from + i, planeStride, weights, bias, rows + i, stride);
    } else {
      sumTile<count, kVectors>(s, from + i, planeStride, weights, bias, rows + i, stride);
    }
  }
}

}  // namespace

void PlaneSums::make(const float* from, int64_t planeStride, const float* weights,
                     const float* bias, int64_t count, int64_t positions, float* rows,
                     int64_t stride) const {
  runWide([&] {
    unrolled<kSumRows>([&](auto i) __attribute__((always_inline)) {
      if (count == i + 1) {
        sumRows<i + 1>(*this, from, planeStride, weights, bias, positions, rows, stride);
      }
    });
  });
}

double PlaneSums::share(int64_t wanted, int64_t positions, int64_t tapWeights) {
  constexpr int64_t kNearWeights = 64;
  double share = tapWeights > kNearWeights ? 0.4 : 0.7;
  int64_t summed = positions / kSumPositions * kSumPositions;
  if (summed < positions) {
    summed += vectorsFor(positions - summed) * kVectorLanes;
  }
  return share * static_cast<double>(wanted) / static_cast<double>(summed);
}

}  // namespace graphrun::devices::cpu
