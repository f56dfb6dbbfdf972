// Deformable convolutions: their shapes, and where they read. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_DEFORM_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_DEFORM_H_

#include <array>
#include <optional>

#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {

inline constexpr size_t kMostSpatial = 4;
/// Sizes and operands of gr.deform_conv.
struct DeformConv {
  size_t rank;
  Dims in, out, kernel;  ///< spatial
  Window window;
  int64_t batch, inChannels, outChannels, groups, offsetGroups;
  int64_t inCount, outCount, kernelCount;
  uint32_t input, filter, offsets, result;
  std::optional<uint32_t> bias, mask;
};

/// The corners of the cell in which a point lies, and their weights; zero outside.
struct Corners {
  std::array<int64_t, 1 << kMostSpatial> index;
  std::array<double, 1 << kMostSpatial> weight;
  size_t count = 0;

  Corners() = default;
  Corners(const DeformConv& c, const std::array<double, kMostSpatial>& point) {
    for (size_t corner = 0; corner < size_t{1} << c.rank; ++corner) {
      int64_t flat = 0;
      double part = 1;
      for (size_t d = 0; d < c.rank && part != 0; ++d) {
        double low = std::floor(point[d]);
        bool high = (corner >> d & 1U) != 0;
        double at = high ? low + 1 : low;
        bool inside = at >= 0 && at <= static_cast<double>(c.in[d] - 1);
        part *= !inside ? 0 : high ? point[d] - low : low + 1 - point[d];
        flat = flat * c.in[d] + (inside ? static_cast<int64_t>(at) : 0);
      }
      if (part != 0) {
        index[count] = flat;
        weight[count++] = part;
      }
    }
  }
  template <typename T>
  double value(const T* plane) const {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      sum += weight[i] * static_cast<double>(load(plane[index[i]]));
    }
    return sum;
  }
};

/// Those of `instruction`, checked against each other.
absl::StatusOr<DeformConv> deformConvOf(const Instruction& instruction);

/// Returns where filter element `k` reads for result position `o`, bent by the offsets of `group`.
template <typename T>
std::array<double, kMostSpatial> pointOf(const DeformConv& c, const T* offsets, int64_t image,
                                         int64_t group, int64_t k, int64_t o) {
  std::array<double, kMostSpatial> point{};
  auto rank = static_cast<int64_t>(c.rank);
  int64_t element = k;
  int64_t position = o;
  for (size_t d = c.rank; d > 0; --d) {
    size_t i = d - 1;
    int64_t channel =
        ((image * c.offsetGroups + group) * c.kernelCount + k) * rank + static_cast<int64_t>(i);
    int64_t start = position % c.out[i] * c.window.strides[i] - c.window.padsBegin[i] +
                    element % c.kernel[i] * c.window.dilations[i];
    constexpr double kFar = 0x1p40;
    double bent =
        static_cast<double>(start) + static_cast<double>(load(offsets[channel * c.outCount + o]));
    point[i] = bent >= -kFar && bent <= kFar ? bent : kFar;
    element /= c.kernel[i];
    position /= c.out[i];
  }
  return point;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_DEFORM_H_
