#include "devices/cpu/kernels/resize_kernel.h"

#include <omp.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/executable/resize_taps.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.resize: rows are resized ", what));
}

/// Dims as they lie, slowest first.
std::vector<size_t> byStride(const Blocking& blocking) {
  std::vector<size_t> order(blocking.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocking.strides[a] > blocking.strides[b]; });
  return order;
}

/// The operand's blocking; Unimplemented where it has gaps.
absl::StatusOr<Blocking> operandBlocking(const Instruction& instruction) {
  TensorDesc desc = instruction.inputs[0].desc;
  GR_ASSIGN_OR_RETURN(Blocking blocking, blockingOf(desc));
  return blocking.extent() == countOf(blocking.paddedDims)
             ? absl::StatusOr<Blocking>(std::move(blocking))
             : declined("if tensors have no gaps");
}

/// The result's layout: blocks and order of the operand's.
absl::StatusOr<TensorDesc> resultLike(const Instruction& instruction, Blocking blocking) {
  const TensorDesc& out = instruction.outputs[0].desc;
  if (isDense(instruction.inputs[0].desc)) {
    return TensorDesc{out.type, out.dims};
  }
  std::vector<size_t> order = byStride(blocking);
  int64_t stride = countOf(blocking.innerBlocks);
  blocking.dims = out.dims;
  for (size_t i = order.size(); i-- > 0;) {
    size_t d = order[i];
    int64_t block = blocking.blockOf(static_cast<int>(d));
    blocking.paddedDims[d] = (out.dims[d] + block - 1) / block * block;
    blocking.strides[d] = stride;
    stride *= blocking.paddedDims[d] / block;
  }
  return blockedDesc(out.type, blocking);
}

/// A dim that is resized, as it lies in memory, or one between two such.
struct Axis {
  int64_t in, out;
  AxisTaps taps;
};

/// outer x axes x inner, where the first and the last axis are resized; no axis: nothing is.
struct Geometry {
  int64_t outer = 1, inner = 1;
  std::vector<Axis> axes;
};

absl::StatusOr<Geometry> geometryOf(const Instruction& instruction, const Blocking& blocking) {
  GR_ASSIGN_OR_RETURN(ResizeRule rule, resizeRuleOf(instruction));
  GR_ASSIGN_OR_RETURN(std::optional<std::vector<double>> scales, knownScales(instruction));
  if (rule.coordinates == ResizeRule::Coordinates::kCrop || !scales) {
    return declined("with known scales, and not cropped");
  }
  constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();
  if (countOf(blocking.paddedDims) > kLongest) {
    return declined("if there are less than 2^31 elements");
  }
  Geometry geometry;
  geometry.inner = countOf(blocking.innerBlocks);
  std::vector<size_t> order = byStride(blocking);
  const Dims& out = instruction.outputs[0].desc.dims;
  auto resized = [&](size_t d) { return blocking.dims[d] != out[d] || (*scales)[d] != 1; };
  auto first = std::find_if(order.begin(), order.end(), resized);
  auto last = std::find_if(order.rbegin(), order.rend(), resized).base();
  for (auto at = order.begin(); at != order.end(); ++at) {
    int64_t block = blocking.blockOf(static_cast<int>(*at));
    int64_t length = blocking.paddedDims[*at] / block;
    if (at < first) {
      geometry.outer *= length;
    } else if (at >= last) {
      geometry.inner *= length;
    } else if (block > 1) {
      return declined("where no block is");
    } else {
      geometry.axes.push_back({length, out[*at], AxisTaps(rule, length, out[*at])});
      geometry.axes.back().taps.update(rule, (*scales)[*at], {});
    }
  }
  return geometry;
}

/// One index is a sum of these: offsets in the operand, and the weight of each. None with weight 0.
using Sum = std::vector<std::pair<int64_t, float>>;

/// The sums over `before` and, inside it, over one more axis.
std::vector<Sum> times(const std::vector<Sum>& before, const Axis& axis) {
  std::vector<Sum> product;
  for (const Sum& outer : before) {
    for (int64_t x = 0; x < axis.out; ++x) {
      product.emplace_back();
      for (auto [offset, weight] : outer) {
        for (const Tap& tap : axis.taps.of(x)) {
          if (tap.weight != 0) {
            product.back().emplace_back(offset * axis.in + tap.index,
                                        weight * static_cast<float>(tap.weight));
          }
        }
      }
    }
  }
  return product;
}

/// The last axis: each result index has the same number of taps, those not needed weigh 0.
class Columns {
 public:
  Columns(const std::vector<Sum>& sums, int64_t inner)
      : count_(static_cast<int64_t>(sums.size())), inner_(inner) {
    for (const Sum& sum : sums) {
      taps_ = std::max(taps_, static_cast<int64_t>(sum.size()));
      copies_ = copies_ && sum.size() == 1 && sum[0].second == 1;
    }
    for (const Sum& sum : sums) {
      for (size_t t = 0; t < static_cast<size_t>(taps_); ++t) {
        bool needed = t < sum.size();
        offsets_.push_back(needed ? static_cast<int32_t>(sum[t].first * inner) : 0);
        weights_.push_back(needed ? sum[t].second : 0.0F);
      }
    }
  }

  /// Elements of a row of the result.
  int64_t length() const { return count_ * inner_; }

  void apply(const float* from, float* to) const {
    if (copies_) {
      copy(from, to);
    } else if (taps_ == 2) {
      inner_ == 1 ? interpolate(from, to) : addPairs(from, to);
    } else {
      addAll(from, to);
    }
  }

 private:
  void copy(const float* from, float* to) const {
    if (inner_ == 1) {
#pragma omp simd
      for (size_t x = 0; x < offsets_.size(); ++x) {
        to[x] = from[offsets_[x]];
      }
      return;
    }
    for (int32_t offset : offsets_) {
      to = std::copy_n(from + offset, inner_, to);
    }
  }

  void interpolate(const float* from, float* to) const {
#pragma omp simd
    for (int64_t x = 0; x < count_; ++x) {
      auto t = static_cast<size_t>(2 * x);
      to[x] = from[offsets_[t]] * weights_[t] + from[offsets_[t + 1]] * weights_[t + 1];
    }
  }

  void addPairs(const float* from, float* to) const {
    for (size_t x = 0; x < offsets_.size(); x += 2, to += inner_) {
      const float* a = from + offsets_[x];
      const float* b = from + offsets_[x + 1];
#pragma omp simd
      for (int64_t c = 0; c < inner_; ++c) {
        to[c] = a[c] * weights_[x] + b[c] * weights_[x + 1];
      }
    }
  }

  void addAll(const float* from, float* to) const {
    for (int64_t x = 0; x < count_; ++x, to += inner_) {
      std::fill_n(to, inner_, 0.0F);
      for (int64_t t = x * taps_; t < (x + 1) * taps_; ++t) {
        const float* a = from + offsets_[static_cast<size_t>(t)];
        float weight = weights_[static_cast<size_t>(t)];
#pragma omp simd
        for (int64_t c = 0; c < inner_; ++c) {
          to[c] += a[c] * weight;
        }
      }
    }
  }

  int64_t count_, inner_, taps_ = 0;
  bool copies_ = true;
  std::vector<int32_t> offsets_;  ///< of a row, which is no longer than that
  std::vector<float> weights_;
};

/// Sums whole rows for all axes but the last, then resizes that one.
class Resizer {
 public:
  static absl::StatusOr<Resizer> make(const Instruction& instruction) {
    GR_ASSIGN_OR_RETURN(Blocking blocking, operandBlocking(instruction));
    GR_ASSIGN_OR_RETURN(Geometry geometry, geometryOf(instruction, blocking));
    return Resizer(geometry);
  }

  /// Elements that `run` needs for each of `parts()` parts.
  int64_t scratchElements() const { return rowLength_; }
  int64_t parts() const { return std::clamp<int64_t>(units(), 1, omp_get_max_threads()); }

  void run(const float* in, float* scratch, int64_t parts, float* out) const {
    parallelFor(parts, units() / parts * columns_.length(), [&](int64_t part) {
      for (int64_t u = units() * part / parts; u < units() * (part + 1) / parts; ++u) {
        runWide([&] { makeRows(u, in, scratch + part * rowLength_, out); });
      }
    });
  }

 private:
  explicit Resizer(const Geometry& g)
      : outer_(g.outer),
        rows_{{{0, 1.0F}}},
        columns_(g.axes.empty() ? rows_ : times(rows_, g.axes.back()), g.inner) {
    for (size_t i = 0; i + 1 < g.axes.size(); ++i) {
      rows_ = times(rows_, g.axes[i]);
      rowsIn_ *= g.axes[i].in;
    }
    rowLength_ = (g.axes.empty() ? 1 : g.axes.back().in) * g.inner;
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (row == 0 || rows_[row] != rows_[row - 1]) {
        starts_.push_back(static_cast<int64_t>(row));
      }
    }
    starts_.push_back(static_cast<int64_t>(rows_.size()));
  }

  /// Equal rows that follow each other are made together: units.
  int64_t units() const { return outer_ * (static_cast<int64_t>(starts_.size()) - 1); }

  void makeRows(int64_t unit, const float* in, float* scratch, float* out) const {
    auto groups = static_cast<int64_t>(starts_.size()) - 1;
    int64_t outer = unit / groups;
    auto group = static_cast<size_t>(unit % groups);
    int64_t first = starts_[group];
    const float* image = in + outer * rowsIn_ * rowLength_;
    int64_t length = columns_.length();
    float* to = out + (outer * static_cast<int64_t>(rows_.size()) + first) * length;
    columns_.apply(sumRows(rows_[static_cast<size_t>(first)], image, scratch), to);
    for (int64_t row = first + 1; row < starts_[group + 1]; ++row) {
      std::copy_n(to, length, to + (row - first) * length);
    }
  }

  /// The sum of some rows of `image`: in `scratch`, or where the only one lies.
  const float* sumRows(const Sum& sum, const float* image, float* scratch) const {
    if (sum.size() == 1 && sum[0].second == 1) {
      return image + sum[0].first * rowLength_;
    }
    std::fill_n(scratch, rowLength_, 0.0F);
    for (const auto& part : sum) {
      const float* from = image + part.first * rowLength_;
      float weight = part.second;
#pragma omp simd
      for (int64_t i = 0; i < rowLength_; ++i) {
        scratch[i] += from[i] * weight;
      }
    }
    return scratch;
  }

  int64_t outer_;
  int64_t rowsIn_ = 1;
  int64_t rowLength_ = 1;        ///< of the operand
  std::vector<Sum> rows_;        ///< of the result
  std::vector<int64_t> starts_;  ///< of runs of equal rows, and the end
  Columns columns_;
};

absl::Status checkInstruction(const Instruction& instruction) {
  if (instruction.inputs.empty() || instruction.inputs.size() > 2 ||
      instruction.outputs.size() != 1 || !instruction.postOps.empty() ||
      instruction.inputs[0].desc.type != ElementType::kF32 ||
      instruction.outputs[0].desc.type != ElementType::kF32 ||
      instruction.inputs[0].desc.dims.size() != instruction.outputs[0].desc.dims.size() ||
      countOf(instruction.inputs[0].desc.dims) == 0 ||
      countOf(instruction.outputs[0].desc.dims) == 0) {
    return declined("if they are of f32, not empty, and nothing is fused behind");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseResize(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  GR_ASSIGN_OR_RETURN(Resizer resizer, Resizer::make(instruction));
  GR_ASSIGN_OR_RETURN(Blocking blocking, operandBlocking(instruction));
  GR_ASSIGN_OR_RETURN(TensorDesc result, resultLike(instruction, blocking));
  if (!mayLieAs(instruction, result)) {
    return declined("where operand and result lie alike");
  }
  LayoutChoice choice = givenLayouts(instruction);
  choice.outputs.push_back(std::move(result));
  choice.scratchBytes =
      static_cast<uint64_t>(resizer.parts() * resizer.scratchElements()) * sizeof(float);
  choice.implementation = "rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createResizeRows(const Instruction& instruction,
                                                         KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, chooseResize(instruction));
  GR_ASSIGN_OR_RETURN(Resizer resizer, Resizer::make(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, choice.scratchBytes));
  const int64_t parts = resizer.parts();
  return makeKernel([in = instruction.inputs[0].buffer, scratch,
                     out = instruction.outputs[0].buffer, parts,
                     resizer = std::move(resizer)](void* const* buffers) {
    resizer.run(static_cast<const float*>(buffers[in]), static_cast<float*>(buffers[scratch]),
                parts, static_cast<float*>(buffers[out]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
