// Depthwise convolutions are sums of windows over one plane. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_WINDOWS_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_WINDOWS_H_

#include "devices/cpu/kernels/plane_strips.h"

namespace graphrun::devices::cpu {

/// Rows of results that are summed at once, in registers.
inline constexpr int64_t kWindowRows = 7;

/// Returns whether windows of that shape are summed where a plane lies: each element is read once
/// for all taps of its column. Not where rows fill too little of a vector.
bool sumsWindowsInPlace(const PlaneShape& shape);

/// The results of rows [row, row + count) and all columns, one row after the other, from a plane of
/// `input`. `weights` are the window's, `step` floats from one to the next. One thread, with the
/// machine's widest vectors.
void sumWindows(const PlaneShape& shape, absl::Span<const float> input, const float* plane,
                const float* weights, int64_t step, float bias, int64_t row, int64_t count,
                float* results);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_WINDOWS_H_
