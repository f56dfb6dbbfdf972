// gr.resize: every mode, coordinate rule and rounding of ONNX Resize, in any number of dims.
#include <algorithm>

#include "devices/cpu/reference_support.h"

namespace graphrun::devices::cpu {

KernelOr createResize(const Step& step);

namespace {

enum class Mode { kNearest, kLinear, kCubic };
enum class Coordinates { kHalfPixel, kPytorch, kSymmetric, kAlignCorners, kAsymmetric, kCrop };
enum class Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct Rule {
  Mode mode;
  Coordinates coordinates;
  Rounding rounding;
  double cubicCoefficient;
  bool excludeOutside;
  bool antialias;
  double extrapolation;

  /// Half the width of the filter where a step between result elements is 1 / `scale` elements of
  /// the input: an antialiasing filter grows with it.
  int64_t radius(double scale) const {
    double base = mode == Mode::kCubic ? 2 : 1;
    return static_cast<int64_t>(antialias ? std::ceil(base / std::min(scale, 1.0)) : base);
  }
  int64_t taps(double scale) const { return mode == Mode::kNearest ? 1 : 2 * radius(scale); }
};

/// What one result index of a dim is made of: an input index and its weight.
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
      "half_pixel",    "pytorch_half_pixel", "half_pixel_symmetric",
      "align_corners", "asymmetric",         "tf_crop_and_resize"};
  static constexpr absl::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                                     "floor", "ceil"};
  Rule rule{};
  GR_ASSIGN_OR_RETURN(rule.mode, parse<Mode>(step, "mode", kModes));
  GR_ASSIGN_OR_RETURN(rule.coordinates, parse<Coordinates>(step, "coordinates", kCoordinates));
  GR_ASSIGN_OR_RETURN(rule.rounding, parse<Rounding>(step, "rounding", kRoundings));
  GR_ASSIGN_OR_RETURN(rule.cubicCoefficient, attributeOr(step, "cubic_coeff", -0.75));
  GR_ASSIGN_OR_RETURN(rule.excludeOutside, attributeOr(step, "exclude_outside", false));
  GR_ASSIGN_OR_RETURN(rule.antialias, attributeOr(step, "antialias", false));
  GR_ASSIGN_OR_RETURN(rule.extrapolation, attributeOr(step, "extrapolation", 0.0));
  return rule;
}

/// How the elements of one dim lie in its input.
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

/// Where result index `x` lies in the input (ONNX Resize, coordinate_transformation_mode).
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
double weightAt(const Rule& rule, double distance) {
  return rule.mode == Mode::kLinear ? std::max(0.0, 1 - std::fabs(distance))
                                    : cubicWeight(rule.cubicCoefficient, distance);
}

/// Fills `count` taps of one result index whose source is `x`, in a dim of `in` elements; those
/// that the scale does not need get weight 0.
void fillTaps(const Rule& rule, double x, double scale, int64_t in, Tap* taps, int64_t count) {
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

/// Taps of all dims, remade every step because the scales are an operand.
class ResizePlan {
 public:
  ResizePlan(Rule rule, Dims in, Dims out)
      : rule_(rule), in_(std::move(in)), out_(std::move(out)), inStrides_(denseStrides(in_)) {
    for (size_t d = 0; d < out_.size(); ++d) {
      taps_.emplace_back(static_cast<size_t>(out_[d] * count(d)));
      outside_.emplace_back(static_cast<size_t>(out_[d]), false);
    }
  }

  /// `regions` holds starts and ends of a crop, one a dim; null without one.
  void update(const double* scales, const double* regions) {
    for (size_t d = 0; d < out_.size(); ++d) {
      Axis axis{static_cast<double>(in_[d]), static_cast<double>(out_[d]), scales[d]};
      if (regions != nullptr) {
        axis.start = regions[d];
        axis.end = regions[out_.size() + d];
      }
      bool same = in_[d] == out_[d] && scales[d] == 1 && regions == nullptr;
      for (int64_t x = 0; x < out_[d]; ++x) {
        auto to = static_cast<double>(x);
        double at = same ? to : sourceOf(rule_.coordinates, to, axis);
        outside_[d][static_cast<size_t>(x)] = regions != nullptr && !(at >= 0 && at <= axis.in - 1);
        fillTaps(rule_, at, scales[d], in_[d], &taps_[d][static_cast<size_t>(x * count(d))],
                 count(d));
      }
    }
  }

  /// Value of the result at flat index `i`.
  template <typename T>
  T at(const T* in, int64_t i) const {
    if (rule_.coordinates == Coordinates::kCrop && isOutside(i)) {
      return store<T>(rounded<Compute<T>>(rule_.extrapolation));
    }
    if (rule_.mode == Mode::kNearest) {
      int64_t from = 0;
      for (size_t d = out_.size(); d > 0; --d) {
        from += taps_[d - 1][static_cast<size_t>(i % out_[d - 1])].index * inStrides_[d - 1];
        i /= out_[d - 1];
      }
      return in[from];
    }
    return store<T>(rounded<Compute<T>>(sum(in, i, out_.size(), 0)));
  }

 private:
  /// Most taps of a dim: those of the smallest scale that gives its length.
  int64_t count(size_t d) const {
    double least = (static_cast<double>(out_[d]) - 0.5) / static_cast<double>(in_[d]);
    return out_[d] == 0 ? 0 : rule_.taps(least);
  }

  template <typename C>
  static C rounded(double x) {
    return convert<C>(std::is_integral_v<C> ? std::nearbyint(x) : x);
  }

  bool isOutside(int64_t i) const {
    for (size_t d = out_.size(); d > 0; --d) {
      if (outside_[d - 1][static_cast<size_t>(i % out_[d - 1])]) {
        return true;
      }
      i /= out_[d - 1];
    }
    return false;
  }

  /// Weighted sum over the taps of dims [0, rank), the others being fixed at `from`. Recurses once
  /// a dim.
  template <typename T>
  double sum(const T* in, int64_t i, size_t rank, int64_t from) const {
    if (rank == 0) {
      return static_cast<double>(load(in[from]));
    }
    size_t d = rank - 1;
    int64_t each = static_cast<int64_t>(taps_[d].size()) / out_[d];
    const Tap* taps = &taps_[d][static_cast<size_t>(i % out_[d] * each)];
    double total = 0;
    for (int64_t t = 0; t < each; ++t) {
      if (taps[t].weight != 0) {
        total += taps[t].weight * sum(in, i / out_[d], d, from + taps[t].index * inStrides_[d]);
      }
    }
    return total;
  }

  Rule rule_;
  Dims in_, out_, inStrides_;
  std::vector<std::vector<Tap>> taps_;
  std::vector<std::vector<char>> outside_;  ///< of each dim: the source is not in the input
};

/// An operand of numbers, read every step into doubles.
class NumberSource {
 public:
  NumberSource() = default;
  /// `values` are the numbers until the operand is read.
  NumberSource(const Argument& argument, std::vector<double> values)
      : values_(std::move(values)),
        buffer_(argument.buffer),
        read_(dispatchElement(argument.desc.type, []<typename T>() -> Read {
          return [](const void* data, size_t i) {
            return static_cast<double>(load(static_cast<const T*>(data)[i]));
          };
        })) {}
  explicit NumberSource(std::vector<double> values) : values_(std::move(values)) {}

  /// Null when there are none.
  double* get(void* const* buffers) {
    for (size_t i = 0; read_ != nullptr && i < values_.size(); ++i) {
      values_[i] = read_(buffers[buffer_], i);
    }
    return values_.empty() ? nullptr : values_.data();
  }

 private:
  using Read = double (*)(const void*, size_t);
  std::vector<double> values_;
  uint32_t buffer_ = 0;
  Read read_ = nullptr;  ///< null: the numbers are known
};

absl::Status requireCount(const Step& step, size_t input, size_t count, absl::string_view what) {
  return step.inputs[input].desc.dims == Dims{static_cast<int64_t>(count)}
             ? absl::OkStatus()
             : invalidStep(step, absl::StrCat(what, " does not have ", count, " elements"));
}

/// The scales: an operand, known ones, or those that sizes imply, by way of the policy.
class ScaleSource {
 public:
  static absl::StatusOr<ScaleSource> make(const Step& step) {
    const Dims& in = step.inputs[0].desc.dims;
    const Dims& out = step.outputs[0].desc.dims;
    ScaleSource source;
    std::vector<double> scales;
    for (size_t d = 0; d < in.size(); ++d) {
      scales.push_back(static_cast<double>(out[d]) / static_cast<double>(in[d]));
    }
    GR_ASSIGN_OR_RETURN(std::vector<double> known,
                        attributeOr(step, "scales", std::vector<double>()));
    GR_ASSIGN_OR_RETURN(std::string policy, attributeOr(step, "policy", std::string("stretch")));
    if (!known.empty() && known.size() != in.size()) {
      return invalidStep(step, "scales do not have one value a dim");
    }
    bool given = known.empty() && step.inputs.size() > 1;
    if (given) {
      GR_RETURN_IF_ERROR(requireCount(step, 1, in.size(), "scales or sizes"));
    }
    if (given && policy != "stretch") {
      GR_ASSIGN_OR_RETURN(source.axes_, attributeOr(step, "axes", Dims()));
      for (int64_t& axis : source.axes_) {
        GR_ASSIGN_OR_RETURN(axis, normalizeAxis(step, axis, in.size()));
      }
      source.smallest_ = policy == "not_larger";
      source.in_ = in;
    }
    bool read = given && (policy != "stretch" || runtime::isFloat(step.inputs[1].desc.type));
    source.numbers_ =
        read ? NumberSource(step.inputs[1], scales) : NumberSource(known.empty() ? scales : known);
    return source;
  }

  const double* get(void* const* buffers) {
    double* numbers = numbers_.get(buffers);
    if (!axes_.empty()) {
      applyPolicy(numbers);
    }
    return numbers;
  }

 private:
  /// From sizes to scales.
  void applyPolicy(double* numbers) const {
    double scale = smallest_ ? std::numeric_limits<double>::infinity() : 0;
    for (int64_t axis : axes_) {
      auto d = static_cast<size_t>(axis);
      double mine = numbers[d] / static_cast<double>(in_[d]);
      scale = smallest_ ? std::min(scale, mine) : std::max(scale, mine);
    }
    for (size_t d = 0; d < in_.size(); ++d) {
      bool named = std::find(axes_.begin(), axes_.end(), static_cast<int64_t>(d)) != axes_.end();
      numbers[d] = named ? scale : 1;
    }
  }

  NumberSource numbers_;
  Dims axes_;  ///< that share one scale; empty: each dim has its own
  Dims in_;
  bool smallest_ = false;
};

absl::StatusOr<NumberSource> regionSource(const Step& step, const Rule& rule) {
  size_t rank = step.inputs[0].desc.dims.size();
  if ((rule.coordinates == Coordinates::kCrop) != (step.inputs.size() == 3)) {
    return invalidStep(step, "tf_crop_and_resize, and it alone, takes a region");
  }
  if (step.inputs.size() < 3) {
    return NumberSource();
  }
  GR_RETURN_IF_ERROR(requireCount(step, 2, 2 * rank, "roi"));
  return NumberSource(step.inputs[2], std::vector<double>(2 * rank));
}

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
  GR_ASSIGN_OR_RETURN(NumberSource regions, regionSource(step, rule));
  uint32_t from = step.inputs[0].buffer;
  uint32_t to = step.outputs[0].buffer;
  int64_t row = out.back();
  int64_t rows = row == 0 ? 0 : countOf(out) / row;
  ResizePlan plan(rule, in, out);
  return dispatchElement(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, plan = std::move(plan), scales = std::move(scales),
                       regions = std::move(regions)](void* const* buffers) mutable {
      plan.update(scales.get(buffers), regions.get(buffers));
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
