// Taps are the input elements that each result index of gr.resize is made of, dim by dim: every
// mode, coordinate rule and rounding of ONNX Resize.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_RESIZE_TAPS_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_RESIZE_TAPS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "devices/executable/executable.h"

namespace graphrun::devices {

/// The attributes of gr.resize.
struct ResizeRule {
  enum class Mode { kNearest, kLinear, kCubic };
  enum class Coordinates { kHalfPixel, kPytorch, kSymmetric, kAlignCorners, kAsymmetric, kCrop };
  enum class Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

  Mode mode;
  Coordinates coordinates;
  Rounding rounding;
  double cubicCoefficient;
  bool excludeOutside;
  bool antialias;
  double extrapolation;

  /// Most taps of a dim of `in` elements that becomes one of `out`.
  int64_t taps(int64_t in, int64_t out) const;
};

absl::StatusOr<ResizeRule> resizeRuleOf(const Instruction& instruction);

/// The scales where they are known before the step runs, one a dim; nothing where an operand tells.
absl::StatusOr<std::optional<std::vector<double>>> knownScales(const Instruction& instruction);

/// A Tap is a part of one result index of a dim: an input index and its weight.
struct Tap {
  int64_t index;
  double weight;
};

/// The taps of one dim, the same number for each result index; those not needed have weight 0.
class AxisTaps {
 public:
  AxisTaps(const ResizeRule& rule, int64_t in, int64_t out)
      : in_(in),
        out_(out),
        count_(rule.taps(in, out)),
        taps_(static_cast<size_t>(out * count_)),
        outside_(static_cast<size_t>(out), false) {}

  /// `region` is the start and the end of a crop, in parts of the input; empty without one.
  void update(const ResizeRule& rule, double scale, absl::Span<const double> region);

  absl::Span<const Tap> of(int64_t x) const {
    return absl::MakeConstSpan(taps_).subspan(static_cast<size_t>(x * count_),
                                              static_cast<size_t>(count_));
  }
  /// The source of result index `x` is not in the input of a crop.
  bool isOutside(int64_t x) const { return outside_[static_cast<size_t>(x)] != 0; }

 private:
  int64_t in_, out_, count_;
  std::vector<Tap> taps_;
  std::vector<char> outside_;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_RESIZE_TAPS_H_
