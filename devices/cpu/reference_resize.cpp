// gr.resize: every mode, coordinate rule and rounding of ONNX Resize, in any number of dims.
#include <algorithm>

#include "devices/cpu/reference_support.h"

namespace graphrun::devices::cpu {

KernelOr createResize(const Step& step);

namespace {

enum class Mode { kNearest, kLinear, kCubic };
enum class Coordinates { kHalfPixel, kPytorch, kSymmetric, kAlignCorners, kAsymmetric };
enum class Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct Rule {
  Mode mode;
  Coordinates coordinates;
  Rounding rounding;
  double cubicCoefficient;
  bool excludeOutside;

  int64_t taps() const { return mode == Mode::kNearest ? 1 : mode == Mode::kLinear ? 2 : 4; }
};

/// What one result index of a dim is made of: input index and weight, Rule::taps() each.
struct Tap {
  int64_t index;
  double weight;
};

/// Index of `value` in `names`, or InvalidArgument.
template <typename Enum, size_t N>
absl::StatusOr<Enum> parse(const Step& step, const char* attributeName,
                           const absl::string_view (&names)[N]) {
  GR_ASSIGN_OR_RETURN(std::string value, attribute<std::string>(step, attributeName));
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == value) {
      return static_cast<Enum>(i);
    }
  }
  return invalidStep(step, absl::StrCat(attributeName, " is \"", value, "\", which is unknown"));
}

absl::StatusOr<Rule> ruleOf(const Step& step) {
  static constexpr absl::string_view kModes[] = {"nearest", "linear", "cubic"};
  static constexpr absl::string_view kCoordinates[] = {
      "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"};
  static constexpr absl::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                                     "floor", "ceil"};
  Rule rule{};
  GR_ASSIGN_OR_RETURN(rule.mode, parse<Mode>(step, "mode", kModes));
  GR_ASSIGN_OR_RETURN(rule.coordinates, parse<Coordinates>(step, "coordinates", kCoordinates));
  GR_ASSIGN_OR_RETURN(rule.rounding, parse<Rounding>(step, "rounding", kRoundings));
  GR_ASSIGN_OR_RETURN(rule.cubicCoefficient, attributeOr(step, "cubic_coeff", -0.75));
  GR_ASSIGN_OR_RETURN(rule.excludeOutside, attributeOr(step, "exclude_outside", false));
  return rule;
}

/// Where result index `x` lies in the input (ONNX Resize, coordinate_transformation_mode).
double sourceOf(Coordinates rule, int64_t x, double scale, int64_t in, int64_t out) {
  auto at = static_cast<double>(x);
  double half = (at + 0.5) / scale - 0.5;
  switch (rule) {
    case Coordinates::kHalfPixel:
      return half;
    case Coordinates::kPytorch:
      return out > 1 ? half : 0;
    case Coordinates::kSymmetric: {
      double adjustment = static_cast<double>(out) / (static_cast<double>(in) * scale);
      return static_cast<double>(in) / 2 * (1 - adjustment) + half;
    }
    case Coordinates::kAlignCorners:
      return out == 1 ? 0 : at * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    case Coordinates::kAsymmetric:
      return at / scale;
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

/// Fills the taps of one result index whose source is `x`, in a dim of `in` elements.
void fillTaps(const Rule& rule, double x, int64_t in, Tap* taps) {
  // A hostile scale may send the source anywhere.
  x = std::isnan(x) ? 0 : std::clamp(x, -4.0, static_cast<double>(in) + 4.0);
  int64_t count = rule.taps();
  double floor = std::floor(x);
  double total = 0;
  for (int64_t t = 0; t < count; ++t) {
    double at = rule.mode == Mode::kNearest ? roundSource(rule.rounding, x)
                                            : floor + static_cast<double>(t - (count / 2 - 1));
    double weight = rule.mode == Mode::kNearest  ? 1
                    : rule.mode == Mode::kLinear ? 1 - std::fabs(x - at)
                                                 : cubicWeight(rule.cubicCoefficient, x - at);
    auto index = static_cast<int64_t>(at);
    bool outside = index < 0 || index >= in;
    taps[t] = {std::clamp<int64_t>(index, 0, in - 1),
               outside && rule.excludeOutside && count > 1 ? 0 : weight};
    total += taps[t].weight;
  }
  for (int64_t t = 0; rule.excludeOutside && total != 0 && t < count; ++t) {
    taps[t].weight /= total;
  }
}

/// Taps of all dims, remade every step because the scales are an operand.
class ResizePlan {
 public:
  ResizePlan(Rule rule, Dims in, Dims out)
      : rule_(rule), in_(std::move(in)), out_(std::move(out)), inStrides_(denseStrides(in_)) {
    for (int64_t dim : out_) {
      taps_.emplace_back(static_cast<size_t>(dim * rule_.taps()));
    }
  }

  void update(const double* scales) {
    for (size_t d = 0; d < out_.size(); ++d) {
      for (int64_t x = 0; x < out_[d]; ++x) {
        double at = in_[d] == out_[d] && scales[d] == 1
                        ? static_cast<double>(x)
                        : sourceOf(rule_.coordinates, x, scales[d], in_[d], out_[d]);
        fillTaps(rule_, at, in_[d], &taps_[d][static_cast<size_t>(x * rule_.taps())]);
      }
    }
  }

  /// Value of the result at flat index `i`.
  template <typename T>
  T at(const T* in, int64_t i) const {
    if (rule_.mode == Mode::kNearest) {
      int64_t from = 0;
      for (size_t d = out_.size(); d > 0; --d) {
        from += taps_[d - 1][static_cast<size_t>(i % out_[d - 1])].index * inStrides_[d - 1];
        i /= out_[d - 1];
      }
      return in[from];
    }
    return store<T>(convert<Compute<T>>(sum(in, i, out_.size(), 0)));
  }

 private:
  /// Weighted sum over the taps of dims [0, rank), the others being fixed at `from`. Recurses once
  /// a dim.
  template <typename T>
  double sum(const T* in, int64_t i, size_t rank, int64_t from) const {
    if (rank == 0) {
      return static_cast<double>(load(in[from]));
    }
    size_t d = rank - 1;
    const Tap* taps = &taps_[d][static_cast<size_t>(i % out_[d] * rule_.taps())];
    double total = 0;
    for (int64_t t = 0; t < rule_.taps(); ++t) {
      if (taps[t].weight != 0) {
        total += taps[t].weight * sum(in, i / out_[d], d, from + taps[t].index * inStrides_[d]);
      }
    }
    return total;
  }

  Rule rule_;
  Dims in_, out_, inStrides_;
  std::vector<std::vector<Tap>> taps_;
};

/// Reads the scales, or makes them of the dims when sizes are given.
class ScaleSource {
 public:
  static absl::StatusOr<ScaleSource> make(const Step& step) {
    const Dims& in = step.inputs[0].desc.dims;
    const Dims& out = step.outputs[0].desc.dims;
    ScaleSource source;
    for (size_t d = 0; d < in.size(); ++d) {
      source.scales_.push_back(static_cast<double>(out[d]) / static_cast<double>(in[d]));
    }
    GR_ASSIGN_OR_RETURN(std::vector<double> known,
                        attributeOr(step, "scales", std::vector<double>()));
    if (!known.empty() && known.size() != in.size()) {
      return invalidStep(step, "scales do not have one value a dim");
    }
    source.scales_ = known.empty() ? source.scales_ : known;
    if (known.empty() && step.inputs.size() == 2 && runtime::isFloat(step.inputs[1].desc.type)) {
      if (step.inputs[1].desc.dims != Dims{static_cast<int64_t>(in.size())}) {
        return invalidStep(step, "scales do not have one value a dim");
      }
      source.buffer_ = step.inputs[1].buffer;
      source.read_ = dispatchFloat(step.inputs[1].desc.type, []<typename T>() -> Read {
        return [](const void* data, size_t i) {
          return static_cast<double>(load(static_cast<const T*>(data)[i]));
        };
      });
    }
    return source;
  }

  const double* get(void* const* buffers) {
    for (size_t d = 0; read_ != nullptr && d < scales_.size(); ++d) {
      scales_[d] = read_(buffers[buffer_], d);
    }
    return scales_.data();
  }

 private:
  using Read = double (*)(const void*, size_t);
  std::vector<double> scales_;
  uint32_t buffer_ = 0;
  Read read_ = nullptr;  ///< null: the scales are known
};

}  // namespace

KernelOr createResize(const Step& step) {
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& out = step.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Rule rule, ruleOf(step));
  bool emptied = std::find(in.begin(), in.end(), 0) != in.end() && countOf(out) != 0;
  if (in.size() != out.size() || in.empty() || emptied) {
    return invalidStep(step, "the shapes of input and result do not fit");
  }
  if (rule.mode != Mode::kNearest && step.inputs[0].desc.type == ElementType::kBool) {
    return invalidStep(step, "bool is not interpolated");
  }
  GR_ASSIGN_OR_RETURN(ScaleSource scales, ScaleSource::make(step));
  uint32_t from = step.inputs[0].buffer;
  uint32_t to = step.outputs[0].buffer;
  int64_t row = out.back();
  int64_t rows = row == 0 ? 0 : countOf(out) / row;
  ResizePlan plan(rule, in, out);
  return dispatchElement(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, plan = std::move(plan), scales = std::move(scales)](void* const* buffers) mutable {
          plan.update(scales.get(buffers));
          const T* x = static_cast<const T*>(buffers[from]);
          T* y = static_cast<T*>(buffers[to]);
          parallelFor(rows, row, [&](int64_t r) {
            for (int64_t i = r * row; i < (r + 1) * row; ++i) {
              y[i] = plan.at(x, i);
            }
          });
          return 0;
        });
  });
}

}  // namespace graphrun::devices::cpu
