// gr.resize: every mode, coordinate rule and rounding of ONNX Resize, in any number of dims.
#include <algorithm>

#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/resize_taps.h"

namespace graphrun::devices::cpu {

KernelOr createResize(const Instruction& instruction);

namespace {

/// Taps of all dims, remade every step because the scales are an operand.
class ResizePlan {
 public:
  ResizePlan(const ResizeRule& rule, const Dims& in, Dims out)
      : rule_(rule), out_(std::move(out)), inStrides_(denseStrides(in)) {
    for (size_t d = 0; d < out_.size(); ++d) {
      taps_.emplace_back(rule, in[d], out_[d]);
    }
  }

  /// `regions` holds starts and ends of a crop, one a dim; null without one.
  void update(const double* scales, const double* regions) {
    for (size_t d = 0; d < out_.size(); ++d) {
      if (regions == nullptr) {
        taps_[d].update(rule_, scales[d], {});
      } else {
        taps_[d].update(rule_, scales[d], {regions[d], regions[out_.size() + d]});
      }
    }
  }

  /// Value of the result at flat index `i`.
  template <typename T>
  T at(const T* in, int64_t i) const {
    if (rule_.coordinates == ResizeRule::Coordinates::kCrop && isOutside(i)) {
      return store<T>(rounded<Compute<T>>(rule_.extrapolation));
    }
    if (rule_.mode == ResizeRule::Mode::kNearest) {
      int64_t from = 0;
      for (size_t d = out_.size(); d > 0; --d) {
        from += taps_[d - 1].of(i % out_[d - 1])[0].index * inStrides_[d - 1];
        i /= out_[d - 1];
      }
      return in[from];
    }
    return store<T>(rounded<Compute<T>>(sum(in, i, out_.size(), 0)));
  }

 private:
  template <typename C>
  static C rounded(double x) {
    return convert<C>(std::is_integral_v<C> ? std::nearbyint(x) : x);
  }

  bool isOutside(int64_t i) const {
    for (size_t d = out_.size(); d > 0; --d) {
      if (taps_[d - 1].isOutside(i % out_[d - 1])) {
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
    double total = 0;
    for (const Tap& tap : taps_[d].of(i % out_[d])) {
      if (tap.weight != 0) {
        total += tap.weight * sum(in, i / out_[d], d, from + tap.index * inStrides_[d]);
      }
    }
    return total;
  }

  ResizeRule rule_;
  Dims out_, inStrides_;
  std::vector<AxisTaps> taps_;
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

absl::Status requireCount(const Instruction& instruction, size_t input, size_t count,
                          absl::string_view what) {
  return instruction.inputs[input].desc.dims == Dims{static_cast<int64_t>(count)}
             ? absl::OkStatus()
             : invalidInstruction(instruction,
                                  absl::StrCat(what, " does not have ", count, " elements"));
}

/// The scales: an operand, known ones, or those that sizes imply, by way of the policy.
class ScaleSource {
 public:
  static absl::StatusOr<ScaleSource> make(const Instruction& instruction) {
    const Dims& in = instruction.inputs[0].desc.dims;
    const Dims& out = instruction.outputs[0].desc.dims;
    ScaleSource source;
    std::vector<double> scales;
    scales.reserve(in.size());
    for (size_t d = 0; d < in.size(); ++d) {
      scales.push_back(static_cast<double>(out[d]) / static_cast<double>(in[d]));
    }
    GR_ASSIGN_OR_RETURN(std::vector<double> known,
                        attributeOr(instruction, "scales", std::vector<double>()));
    GR_ASSIGN_OR_RETURN(std::string policy,
                        attributeOr(instruction, "policy", std::string("stretch")));
    if (!known.empty() && known.size() != in.size()) {
      return invalidInstruction(instruction, "scales do not have one value a dim");
    }
    bool given = known.empty() && instruction.inputs.size() > 1;
    if (given) {
      GR_RETURN_IF_ERROR(requireCount(instruction, 1, in.size(), "scales or sizes"));
    }
    if (given && policy != "stretch") {
      GR_ASSIGN_OR_RETURN(source.axes_, attributeOr(instruction, "axes", Dims()));
      for (int64_t& axis : source.axes_) {
        GR_ASSIGN_OR_RETURN(axis, normalizeAxis(instruction, axis, in.size()));
      }
      source.smallest_ = policy == "not_larger";
      source.in_ = in;
    }
    bool read = given && (policy != "stretch" || runtime::isFloat(instruction.inputs[1].desc.type));
    source.numbers_ = read ? NumberSource(instruction.inputs[1], scales)
                           : NumberSource(known.empty() ? scales : known);
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

absl::StatusOr<NumberSource> regionSource(const Instruction& instruction, const ResizeRule& rule) {
  size_t rank = instruction.inputs[0].desc.dims.size();
  if ((rule.coordinates == ResizeRule::Coordinates::kCrop) != (instruction.inputs.size() == 3)) {
    return invalidInstruction(instruction, "tf_crop_and_resize, and it alone, takes a region");
  }
  if (instruction.inputs.size() < 3) {
    return NumberSource();
  }
  GR_RETURN_IF_ERROR(requireCount(instruction, 2, 2 * rank, "roi"));
  return NumberSource(instruction.inputs[2], std::vector<double>(2 * rank));
}

}  // namespace

KernelOr createResize(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(ResizeRule rule, resizeRuleOf(instruction));
  bool emptied = std::find(in.begin(), in.end(), 0) != in.end() && countOf(out) != 0;
  if (in.size() != out.size() || in.empty() || emptied) {
    return invalidInstruction(instruction, "the shapes of input and result do not fit");
  }
  if (rule.mode != ResizeRule::Mode::kNearest &&
      instruction.inputs[0].desc.type == ElementType::kBool) {
    return invalidInstruction(instruction, "bool is not interpolated");
  }
  GR_ASSIGN_OR_RETURN(ScaleSource scales, ScaleSource::make(instruction));
  GR_ASSIGN_OR_RETURN(NumberSource regions, regionSource(instruction, rule));
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  int64_t row = out.back();
  int64_t rows = row == 0 ? 0 : countOf(out) / row;
  ResizePlan plan(rule, in, out);
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
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
