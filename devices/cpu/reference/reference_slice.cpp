// Slices and pads, whose positions are known at run time. Elements are moved by size.
#include <algorithm>
#include <cstring>

#include "devices/cpu/reference/index_kernel.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

/// First index and number of elements that ONNX Slice takes of a dim.
struct Range {
  int64_t first, count;
};

Range rangeOf(int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (dim == 0) {
    return {0, 0};
  }
  auto clamped = [&](int64_t p, int64_t low, int64_t high) {
    return std::clamp<int64_t>(p < 0 ? p + dim : p, low, high);
  };
  if (step > 0) {
    int64_t first = clamped(start, 0, dim);
    int64_t last = clamped(end, 0, dim);
    return {first, last <= first ? 0 : (last - first - 1) / step + 1};
  }
  int64_t first = clamped(start, 0, dim - 1);
  int64_t last = end < -dim ? -1 : clamped(end, -1, dim - 1);
  // The distance to go in units of the step; the smallest step has no opposite.
  int64_t stride =
      step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -step;
  return {first, first <= last ? 0 : (first - last - 1) / stride + 1};
}

constexpr const char* kSliceMessages[] = {
    "the positions at run time give another shape than was planned",
    "an axis is out of range, or a step is 0"};

/// A slice whose positions are operands: strides and start are remade every step.
class SliceKernel {
 public:
  static absl::StatusOr<SliceKernel> make(const Instruction& instruction) {
    SliceKernel kernel;
    kernel.in_ = instruction.inputs[0].desc.dims;
    kernel.out_ = instruction.outputs[0].desc.dims;
    kernel.dense_ = denseStrides(kernel.in_);
    for (size_t i = 0; i < 4; ++i) {
      GR_ASSIGN_OR_RETURN(IntOperand operand, IntOperand::make(instruction, i + 1));
      kernel.positions_.push_back(operand);
      if (operand.count != kernel.positions_[0].count) {
        return invalidInstruction(instruction,
                                  "starts, ends, axes and steps have different lengths");
      }
    }
    if (kernel.in_.size() != kernel.out_.size()) {
      return invalidInstruction(instruction, "input and result have different ranks");
    }
    kernel.strides_ = kernel.dense_;
    kernel.counts_ = kernel.in_;
    return kernel;
  }

  /// Sets start and strides; 0, or the code of a message.
  int update(void* const* buffers) {
    start_ = 0;
    strides_ = dense_;
    counts_ = in_;
    auto rank = static_cast<int64_t>(in_.size());
    for (int64_t i = 0; i < positions_[0].count; ++i) {
      int64_t axis = positions_[2].at(buffers, i);
      axis += axis < 0 ? rank : 0;
      int64_t step = positions_[3].at(buffers, i);
      if (axis < 0 || axis >= rank || step == 0) {
        return 2;
      }
      Range range =
          rangeOf(in_[axis], positions_[0].at(buffers, i), positions_[1].at(buffers, i), step);
      counts_[axis] = range.count;
      start_ += range.count > 0 ? range.first * dense_[axis] : 0;
      // With one element the step is not taken, and may be beyond all memory.
      strides_[axis] = range.count > 1 ? step * dense_[axis] : 0;
    }
    return counts_ == out_ ? 0 : 1;
  }

  template <typename T>
  void copy(const T* from, T* to) const {
    int64_t inner = out_.empty() ? 1 : out_.back();
    int64_t stride = out_.empty() ? 0 : strides_.back();
    int64_t rows = inner == 0 ? 0 : countOf(out_) / inner;
    parallelFor(rows, inner, [&](int64_t row) {
      const T* x = from + start_ + rowOffset(row);
      for (int64_t i = 0; i < inner; ++i) {
        to[row * inner + i] = x[i * stride];
      }
    });
  }

 private:
  int64_t rowOffset(int64_t row) const {
    int64_t at = 0;
    for (size_t d = out_.empty() ? 0 : out_.size() - 1; d > 0; --d) {
      at += row % out_[d - 1] * strides_[d - 1];
      row /= out_[d - 1];
    }
    return at;
  }

  Dims in_, out_, dense_;
  std::vector<IntOperand> positions_;  ///< starts, ends, axes, steps
  Dims strides_, counts_;              ///< of this step; copies of one size do not allocate
  int64_t start_ = 0;
};

KernelOr createSlice(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(SliceKernel slice, SliceKernel::make(instruction));
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchSize(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, slice = std::move(slice)](void* const* buffers) mutable {
          if (int code = slice.update(buffers); code != 0) {
            return code;
          }
          slice.copy(static_cast<const T*>(buffers[in]), static_cast<T*>(buffers[out]));
          return 0;
        },
        kSliceMessages);
  });
}

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

/// Input index behind index `i` of a padded dim of `n` elements, or -1 for the constant.
int64_t padSource(PadMode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) {
    return i;
  }
  if (mode == PadMode::kConstant || n == 0) {
    return -1;
  }
  if (mode == PadMode::kEdge) {
    return i < 0 ? 0 : n - 1;
  }
  int64_t period = mode == PadMode::kWrap ? n : std::max<int64_t>(2 * (n - 1), 1);
  int64_t at = (i % period + period) % period;
  return at < n ? at : period - at;
}

constexpr const char* kPadMessages[] = {"the pads at run time give another shape than was planned",
                                        "an empty dim cannot be padded with its own elements"};

/// Padding with pads that are an operand: one table of sources a dim, remade every step.
class PadKernel {
 public:
  static absl::StatusOr<PadKernel> make(const Instruction& instruction) {
    PadKernel kernel;
    kernel.in_ = instruction.inputs[0].desc.dims;
    kernel.out_ = instruction.outputs[0].desc.dims;
    kernel.strides_ = denseStrides(kernel.in_);
    GR_ASSIGN_OR_RETURN(IntOperand pads, IntOperand::make(instruction, 1));
    kernel.pads_ = pads;
    GR_ASSIGN_OR_RETURN(std::string mode, attribute<std::string>(instruction, "mode"));
    static constexpr absl::string_view kModes[] = {"constant", "reflect", "edge", "wrap"};
    const auto* found = std::find(std::begin(kModes), std::end(kModes), mode);
    if (found == std::end(kModes) || kernel.in_.size() != kernel.out_.size() ||
        pads.count != 2 * static_cast<int64_t>(kernel.in_.size()) ||
        countOf(instruction.inputs[2].desc.dims) < 1) {
      return invalidInstruction(instruction, "mode, pads, value and shapes do not fit");
    }
    kernel.mode_ = static_cast<PadMode>(found - std::begin(kModes));
    for (int64_t dim : kernel.out_) {
      kernel.sources_.emplace_back(static_cast<size_t>(dim));
    }
    return kernel;
  }

  int update(void* const* buffers) {
    auto rank = static_cast<int64_t>(in_.size());
    for (int64_t d = 0; d < rank; ++d) {
      int64_t begin = pads_.at(buffers, d);
      int64_t end = pads_.at(buffers, d + rank);
      constexpr int64_t kFar = int64_t{1} << 61;
      bool sane = begin > -kFar && begin < kFar && end > -kFar && end < kFar;
      if (!sane || in_[d] + begin + end != out_[d]) {
        return 1;
      }
      for (int64_t i = 0; i < out_[d]; ++i) {
        int64_t from = padSource(mode_, i - begin, in_[d]);
        if (from < 0 && mode_ != PadMode::kConstant) {
          return 2;
        }
        sources_[d][static_cast<size_t>(i)] = from;
      }
      // Of the last dim: what comes from the input as it lies.
      first_ = std::clamp<int64_t>(begin, 0, out_[d]);
      last_ = std::clamp<int64_t>(begin + in_[d], first_, out_[d]);
    }
    return 0;
  }

  template <typename T>
  void copy(const T* from, T value, T* to) const {
    int64_t inner = out_.empty() ? 1 : out_.back();
    int64_t rows = inner == 0 ? 0 : countOf(out_) / inner;
    parallelFor(rows, inner, [&](int64_t row) {
      int64_t base = rowOffset(row);
      T* at = to + row * inner;
      if (base < 0 || out_.empty()) {
        std::fill_n(at, inner, base < 0 ? value : *from);
        return;
      }
      auto fill = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t source = sources_.back()[static_cast<size_t>(i)];
          at[i] = source < 0 ? value : from[base + source];
        }
      };
      fill(0, first_);
      if (first_ < last_) {
        std::copy_n(from + base + sources_.back()[static_cast<size_t>(first_)], last_ - first_,
                    at + first_);
      }
      fill(last_, inner);
    });
  }

 private:
  /// Offset of a row's first element in the input, or -1 when the row is padding.
  int64_t rowOffset(int64_t row) const {
    int64_t at = 0;
    for (size_t d = out_.empty() ? 0 : out_.size() - 1; d > 0; --d) {
      int64_t from = sources_[d - 1][static_cast<size_t>(row % out_[d - 1])];
      if (from < 0) {
        return -1;
      }
      at += from * strides_[d - 1];
      row /= out_[d - 1];
    }
    return at;
  }

  Dims in_, out_, strides_;
  IntOperand pads_{};
  PadMode mode_ = PadMode::kConstant;
  std::vector<Dims> sources_;
  int64_t first_ = 0, last_ = 0;  ///< of a row of the result: copied as it lies
};

KernelOr createPad(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(PadKernel pad, PadKernel::make(instruction));
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t value = instruction.inputs[2].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchSize(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, pad = std::move(pad)](void* const* buffers) mutable {
          if (int code = pad.update(buffers); code != 0) {
            return code;
          }
          pad.copy(static_cast<const T*>(buffers[in]), *static_cast<const T*>(buffers[value]),
                   static_cast<T*>(buffers[out]));
          return 0;
        },
        kPadMessages);
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.slice", TypeRule::kMove, createSlice, 5},
    {"gr.pad", TypeRule::kPad, createPad, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceSlice() { return kEntries; }

}  // namespace graphrun::devices::cpu
