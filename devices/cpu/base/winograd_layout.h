// The elements of filters lie like this where Winograd convolutions read them. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BASE_WINOGRAD_LAYOUT_H_
#define GRAPHRUN_DEVICES_CPU_BASE_WINOGRAD_LAYOUT_H_

#include <algorithm>
#include <cstdint>

#include "devices/cpu/vectors/panel_product.h"

namespace graphrun::devices::cpu {

/// A transformed filter of out x in x 3 x 3. Panels of kPanel results, the last one of as many
/// vectors as are left; a panel has for each element of the transform its in x width matrix. Behind
/// all panels are as many that have one for each tap as it is, for tiles that are summed directly.
/// Channels are rounded up to whole vectors. Neither batch nor image size matter.
struct WinogradFilter {
  static constexpr int64_t kTaps = 9;

  int64_t tile;  ///< results of a transform are tile x tile: 2 or 4
  int64_t in, out;

  static int64_t wholeVectors(int64_t channels) {
    return (channels + kVectorLanes - 1) / kVectorLanes * kVectorLanes;
  }
  /// Returns the elements of a transformed tile.
  int64_t elements() const { return (tile + 2) * (tile + 2); }
  int64_t depth() const { return wholeVectors(in); }
  int64_t panels() const { return (out + kPanel - 1) / kPanel; }
  int64_t widthOf(int64_t panel) const {
    return std::min(kPanel, wholeVectors(out) - panel * kPanel);
  }
  /// Returns where a panel begins, in floats, and where that of its taps does.
  int64_t panelAt(int64_t panel) const { return panel * kPanel * depth() * elements(); }
  int64_t tapsAt(int64_t panel) const {
    return transformedFloats() + panel * kPanel * depth() * kTaps;
  }
  int64_t transformedFloats() const { return wholeVectors(out) * depth() * elements(); }
  int64_t floats() const { return transformedFloats() + wholeVectors(out) * depth() * kTaps; }
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_WINOGRAD_LAYOUT_H_
