// Phases tell which taps of a transposed convolution's window fall on which results. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_DECONV_PHASES_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_DECONV_PHASES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace graphrun::devices::cpu {

/// A tap of the window, and how far from its result the element lies that it is multiplied with.
struct PhaseTap {
  int64_t tap, shift;
};

/// Along one dim: for each remainder of the stride the taps that fall on such results. Those at
/// every stride-th position are so a convolution of their own, of stride 1.
struct PhaseTaps {
  std::vector<std::vector<PhaseTap>> phases;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();

  PhaseTaps(int64_t taps, int64_t stride, int64_t dilation, int64_t pad)
      : phases(static_cast<size_t>(stride)) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      // Result stride * q + r has element q + shift where r + pad - tap * dilation = stride *
      // shift.
      int64_t r = ((tap * dilation - pad) % stride + stride) % stride;
      int64_t shift = (r + pad - tap * dilation) / stride;
      phases[static_cast<size_t>(r)].push_back({tap, shift});
      least = std::min(least, shift);
      most = std::max(most, shift);
    }
  }
  int64_t reach() const { return most - least; }
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_DECONV_PHASES_H_
