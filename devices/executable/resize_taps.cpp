#include "devices/executable/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "devices/executable/enum_attribute.h"

namespace graphrun::devices {
namespace {

using Mode = ResizeRule::Mode;
using Coordinates = ResizeRule::Coordinates;
using Rounding = ResizeRule::Rounding;

/// Half the width of the filter where a step between result elements is 1 / `scale` elements of
/// the input: an antialiasing filter grows with it.
int64_t radiusOf(const ResizeRule& rule, double scale) {
  double base = rule.mode == Mode::kCubic ? 2 : 1;
  return static_cast<int64_t>(rule.antialias ? std::ceil(base / std::min(scale, 1.0)) : base);
}

/// An Axis says how the elements of one dim lie in its input.
struct Axis {
  double in, out;
  double scale;
  double start = 0, end = 1;  ///< the region that a crop takes, in parts of the input

  /// Elements after resizing before rounding; exact where the scale is out / in.
  double length() const {
    double exact = in * scale;
    return std::fabs(exact - out) < 1e-9 * out ? out : exact;
  }
};

/// Returns where result index `x` lies in the input (ONNX Resize, coordinate_transformation_mode).
double sourceOf(Coordinates rule, double x, const Axis& axis) {
  double half = (x + 0.5) / axis.scale - 0.5;
  double length = axis.length();
  double last = axis.in - 1;
  switch (rule) {
    case Coordinates::kHalfPixel:
      return half;
    case Coordinates::kPytorch:
      return axis.out > 1 ? half : 0;
    case Coordinates::kSymmetric:
      return axis.in / 2 * (1 - axis.out / length) + half;
    case Coordinates::kAlignCorners:
      return length == 1 ? 0 : x * last / (length - 1);
    case Coordinates::kAsymmetric:
      return x / axis.scale;
    case Coordinates::kCrop: {
      double span = (axis.end - axis.start) * last;
      return axis.start * last + (length == 1 ? span / 2 : x * span / (length - 1));
    }
  }
  return 0;
}

double roundSource(Rounding rule, double x) {
  switch (rule) {
    case Rounding::kPreferFloor:
      return std::ceil(x - 0.5);
    case Rounding::kPreferCeil:
      return std::floor(x + 0.5);
    case Rounding::kFloor:
      return std::floor(x);
    case Rounding::kCeil:
      return std::ceil(x);
  }
  return x;
}

/// Weight of a tap at `distance` (Keys, "Cubic convolution interpolation", 1981).
double cubicWeight(double a, double distance) {
  double d = std::fabs(distance);
  if (d <= 1) {
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  }
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Weight of the element at `distance` from the source.
double weightAt(const ResizeRule& rule, double distance) {
  return rule.mode == Mode::kLinear ? std::max(0.0, 1 - std::fabs(distance))
                                    : cubicWeight(rule.cubicCoefficient, distance);
}

/// Fills `count` taps of one result index whose source is `x`, in a dim of `in` elements; those
/// that the scale does not need get weight 0.
void fillTaps(const ResizeRule& rule, double x, double scale, int64_t in, Tap* taps,
              int64_t count) {
  // A hostile scale may send the source anywhere.
  auto beyond = static_cast<double>(count);
  x = std::isnan(x) ? 0 : std::clamp(x, -beyond, static_cast<double>(in) + beyond);
  if (rule.mode == Mode::kNearest) {
    auto index = static_cast<int64_t>(roundSource(rule.rounding, x));
    taps[0] = {std::clamp<int64_t>(index, 0, in - 1), 1};
    return;
  }
  double shrink = rule.antialias ? std::min(scale, 1.0) : 1;
  auto first = static_cast<int64_t>(std::floor(x)) - count / 2 + 1;
  double whole = 0;
  double inside = 0;
  for (int64_t t = 0; t < count; ++t) {
    int64_t index = first + t;
    double weight = weightAt(rule, (x - static_cast<double>(index)) * shrink);
    bool outside = index < 0 || index >= in;
    whole += weight;
    inside += outside ? 0 : weight;
    taps[t] = {std::clamp<int64_t>(index, 0, in - 1), outside && rule.excludeOutside ? 0 : weight};
  }
  double total = rule.excludeOutside ? inside : rule.antialias ? whole : 1;
  for (int64_t t = 0; total != 0 && t < count; ++t) {
    taps[t].weight /= total;
  }
}

}  // namespace

int64_t ResizeRule::taps(int64_t in, int64_t out) const {
  // Those of the smallest scale that gives the length.
  double least = (static_cast<double>(out) - 0.5) / static_cast<double>(in);
  return out == 0 ? 0 : mode == Mode::kNearest ? 1 : 2 * radiusOf(*this, least);
}

absl::StatusOr<ResizeRule> resizeRuleOf(const Instruction& instruction) {
  static constexpr absl::string_view kModes[] = {"nearest", "linear", "cubic"};
  static constexpr absl::string_view kCoordinates[] = {
      "half_pixel",    "pytorch_half_pixel", "half_pixel_symmetric",
      "align_corners", "asymmetric",         "tf_crop_and_resize"};
  static constexpr absl::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                                     "floor", "ceil"};
  ResizeRule rule{};
  GR_ASSIGN_OR_RETURN(rule.mode, enumAttribute<Mode>(instruction, "mode", kModes));
  GR_ASSIGN_OR_RETURN(rule.coordinates,
                      enumAttribute<Coordinates>(instruction, "coordinates", kCoordinates));
  GR_ASSIGN_OR_RETURN(rule.rounding, enumAttribute<Rounding>(instruction, "rounding", kRoundings));
  GR_ASSIGN_OR_RETURN(rule.cubicCoefficient, attributeOr(instruction, "cubic_coeff", -0.75));
  GR_ASSIGN_OR_RETURN(rule.excludeOutside, attributeOr(instruction, "exclude_outside", false));
  GR_ASSIGN_OR_RETURN(rule.antialias, attributeOr(instruction, "antialias", false));
  GR_ASSIGN_OR_RETURN(rule.extrapolation, attributeOr(instruction, "extrapolation", 0.0));
  return rule;
}

absl::StatusOr<std::optional<std::vector<double>>> knownScales(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::vector<double> scales,
                      attributeOr(instruction, "scales", std::vector<double>()));
  GR_ASSIGN_OR_RETURN(std::string policy,
                      attributeOr(instruction, "policy", std::string("stretch")));
  const std::vector<int64_t>& in = instruction.inputs[0].desc.dims;
  const std::vector<int64_t>& out = instruction.outputs[0].desc.dims;
  if (!scales.empty()) {
    return scales.size() == in.size()
               ? absl::StatusOr<std::optional<std::vector<double>>>(std::move(scales))
               : absl::InvalidArgumentError(
                     absl::StrCat(instruction.operation, ": scales do not have one value a dim"));
  }
  if (instruction.inputs.size() > 1 &&
      (policy != "stretch" || runtime::isFloat(instruction.inputs[1].desc.type))) {
    return std::nullopt;
  }
  for (size_t d = 0; d < in.size(); ++d) {
    scales.push_back(static_cast<double>(out[d]) / static_cast<double>(in[d]));
  }
  return scales;
}

void AxisTaps::update(const ResizeRule& rule, double scale, absl::Span<const double> region) {
  Axis axis{static_cast<double>(in_), static_cast<double>(out_), scale};
  if (!region.empty()) {
    axis.start = region[0];
    axis.end = region[1];
  }
  bool same = in_ == out_ && scale == 1 && region.empty();
  for (int64_t x = 0; x < out_; ++x) {
    auto to = static_cast<double>(x);
    double at = same ? to : sourceOf(rule.coordinates, to, axis);
    outside_[static_cast<size_t>(x)] = !region.empty() && !(at >= 0 && at <= axis.in - 1);
    fillTaps(rule, at, scale, in_, &taps_[static_cast<size_t>(x * count_)], count_);
  }
}

}  // namespace graphrun::devices
