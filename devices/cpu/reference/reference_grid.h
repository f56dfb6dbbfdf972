// Where the points of a grid lie among the elements of an image: for sampling there, and for its
// gradients. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_GRID_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_GRID_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/enum_attribute.h"

namespace graphrun::devices::cpu {

inline constexpr size_t kMostSpatial = 8;
inline constexpr int64_t kMostTaps = 4;

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

/// Input elements along one dim that make up a sample; index -1 is in the zeros around it.
struct Taps {
  std::array<int64_t, kMostTaps> index;
  std::array<double, kMostTaps> weight;
};

/// One spatial dim that a grid points into.
struct GridAxis {
  Mode mode;
  Padding padding;
  bool corners;
  int64_t size;

  int64_t taps() const { return mode == Mode::kNearest ? 1 : mode == Mode::kLinear ? 2 : 4; }

  /// From [-1, 1] to elements, in the grid's own precision: ties depend on it.
  template <typename C>
  C point(C x) const {
    auto length = static_cast<C>(size);
    return corners ? (x + 1) / 2 * (length - 1) : ((x + 1) * length - 1) / 2;
  }

  /// The outermost centres or edges.
  double low() const { return corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(size) - (corners ? 1 : 0.5); }

  /// The derivative of `point`.
  double pointSlope() const { return (corners ? size - 1 : size) / 2.0; }

  /// `x` mirrored at the borders until it is between them.
  double reflect(double x) const {
    double range = high() - low();
    if (range <= 0 || (x >= low() && x <= high())) {
      return range <= 0 ? low() : x;
    }
    bool below = x < low();
    double distance = below ? low() - x : x - high();
    double turns = std::floor(distance / range);
    double rest = distance - turns * range;
    return below == (std::fmod(turns, 2) == 0) ? low() + rest : high() - rest;
  }

  /// The derivative of `reflect`.
  double reflectSlope(double x) const {
    double range = high() - low();
    if (range <= 0 || (x >= low() && x <= high())) {
      return range <= 0 ? 0 : 1;
    }
    double turns = std::floor((x < low() ? low() - x : x - high()) / range);
    return std::fmod(turns, 2) == 0 ? -1 : 1;
  }

  int64_t indexOf(int64_t i) const {
    bool inside = i >= 0 && i < size;
    if (inside || padding == Padding::kZeros) {
      return inside ? i : -1;
    }
    if (padding == Padding::kReflection) {
      i = static_cast<int64_t>(reflect(static_cast<double>(i)));
    }
    return std::clamp<int64_t>(i, 0, size - 1);
  }

  /// Makes `taps` those of a point; not as a result, which would be copied in one vector right
  /// after it was written in parts.
  template <typename C>
  void tapsAt(C coordinate, Taps& taps) const {
    double x = pointAt(coordinate);
    x = mode == Mode::kNearest ? std::nearbyint(x) : x;
    x = padding == Padding::kReflection ? reflect(x) : x;
    if (mode == Mode::kNearest) {
      taps.index[0] = indexOf(static_cast<int64_t>(x));
      taps.weight[0] = 1;
      return;
    }
    auto first = static_cast<int64_t>(std::floor(x)) - taps_before();
    for (int64_t t = 0; t < this->taps(); ++t) {
      auto i = static_cast<size_t>(t);
      taps.index[i] = indexOf(first + t);
      taps.weight[i] = weightAt(x - static_cast<double>(first + t));
    }
  }

  /// Makes `taps` those of a point with the derivatives of their weights by its coordinate.
  template <typename C>
  void slopesAt(C coordinate, Taps& taps) const {
    double x = pointAt(coordinate);
    double slope = mode == Mode::kNearest ? 0 : pointSlope();
    if (padding == Padding::kReflection && mode != Mode::kNearest) {
      slope *= reflectSlope(x);
      x = reflect(x);
    }
    tapsAt(coordinate, taps);
    auto first = static_cast<int64_t>(std::floor(x)) - taps_before();
    for (int64_t t = 0; t < this->taps(); ++t) {
      taps.weight[static_cast<size_t>(t)] =
          slope == 0 ? 0 : slope * slopeAt(x - static_cast<double>(first + t));
    }
  }

 private:
  /// Where a coordinate lies among the elements, not too far away to count; NaN is far away.
  template <typename C>
  double pointAt(C coordinate) const {
    constexpr double kFar = 0x1p40;
    C exact = point(coordinate);
    return std::isnan(exact) ? -kFar : std::clamp(static_cast<double>(exact), -kFar, kFar);
  }

  int64_t taps_before() const { return mode == Mode::kCubic ? 1 : 0; }

  /// Linear, or cubic (Keys, "Cubic convolution interpolation", 1981) with a = -0.75.
  double weightAt(double distance) const {
    double d = std::fabs(distance);
    if (mode == Mode::kLinear) {
      return std::max(0.0, 1 - d);
    }
    return d <= 1 ? ((kA + 2) * d - (kA + 3)) * d * d + 1
                  : ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  }

  /// The derivative of `weightAt`; at a kink that towards larger distances.
  double slopeAt(double distance) const {
    double d = std::fabs(distance);
    double sign = distance < 0 ? -1 : 1;
    if (mode == Mode::kLinear) {
      return -sign;
    }
    return sign * (d <= 1 ? (3 * (kA + 2) * d - 2 * (kA + 3)) * d : kA * ((3 * d - 10) * d + 8));
  }

  static constexpr double kA = -0.75;
};

/// The dims that the grid (operand 1) points into, of the input (operand 0), for samples of dims
/// `out`; InvalidArgument where they do not fit.
inline absl::StatusOr<std::vector<GridAxis>> gridAxes(const Instruction& instruction,
                                                      const Dims& out) {
  static constexpr absl::string_view kModes[] = {"nearest", "linear", "cubic"};
  static constexpr absl::string_view kPaddings[] = {"zeros", "border", "reflection"};
  GR_ASSIGN_OR_RETURN(Mode mode, enumAttribute<Mode>(instruction, "mode", kModes));
  GR_ASSIGN_OR_RETURN(Padding padding, enumAttribute<Padding>(instruction, "padding", kPaddings));
  GR_ASSIGN_OR_RETURN(bool corners, attributeOr(instruction, "align_corners", false));
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& grid = instruction.inputs[1].desc.dims;
  size_t rank = in.size();
  bool fits = rank >= 3 && rank <= kMostSpatial + 2 && grid.size() == rank && out.size() == rank &&
              grid[0] == in[0] && out[0] == in[0] && out[1] == in[1] &&
              grid.back() == static_cast<int64_t>(rank) - 2 &&
              std::equal(out.begin() + 2, out.end(), grid.begin() + 1) &&
              runtime::isFloat(instruction.inputs[1].desc.type) &&
              (countOf(in) != 0 || countOf(out) == 0);
  if (!fits) {
    return invalidInstruction(instruction, "the shapes of input, grid and result do not fit");
  }
  std::vector<GridAxis> axes;
  for (size_t d = 2; d < rank; ++d) {
    axes.push_back({mode, padding, corners, in[d]});
  }
  return axes;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_GRID_H_
