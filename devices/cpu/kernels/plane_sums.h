// Sums of shifted planes: what a convolution is where each channel is a plane of its own. Internal
// to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_SUMS_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_SUMS_H_

#include <cstdint>
#include <vector>

namespace graphrun::devices::cpu {

/// Results whose rows are summed at once, in registers.
inline constexpr int64_t kSumRows = 6;
/// Positions of a row that are summed at once.
inline constexpr int64_t kSumPositions = 64;

/// Row r at position i is
///   bias[r] + sum over planes p and taps t of weights[p * planeWeights + t.weight + r] *
///             planes[p * planeStride + t.offset + i].
struct PlaneSums {
  struct Tap {
    int64_t offset, weight;
  };

  int64_t planes;
  int64_t planeWeights;
  std::vector<Tap> taps;

  /// Makes `count` rows (at most kSumRows) of `positions` each, `stride` floats apart; `weights`
  /// and `bias` are those of the first row. Reads and writes whole vectors, at the end up to
  /// kSumPositions - 1 positions more than there are. One thread, with the machine's widest
  /// vectors.
  void make(const float* from, int64_t planeStride, const float* weights, const float* bias,
            int64_t count, int64_t positions, float* rows, int64_t stride) const;

  /// The share of a core's peak that make() reaches, counting `wanted` of the `positions` of its
  /// rows; `tapWeights` floats lie between the weights of two taps. As measured where the weights
  /// were within reach of the processor's own prefetching, and where they were not.
  static double share(int64_t wanted, int64_t positions, int64_t tapWeights);
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_SUMS_H_
