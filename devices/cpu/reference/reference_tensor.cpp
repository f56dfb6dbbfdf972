// Movement of data. Works on elements by size, whatever their type.
#include <algorithm>
#include <cstring>

#include "devices/cpu/reference/index_kernel.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

/// A dense result read from strided places: nested loops, merged where they run on.
struct StridedRead {
  Dims dims, strides;
  int64_t rows = 1, inner = 1, innerStride = 0;

  StridedRead(Dims d, Dims s) : dims(std::move(d)), strides(std::move(s)) {
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
      rows = 0;
      return;
    }
    std::vector<Dims> list = {std::move(strides)};
    mergeDims(dims, list);
    strides = std::move(list[0]);
    if (!dims.empty()) {
      inner = dims.back();
      innerStride = strides.back();
      dims.pop_back();
      strides.pop_back();
    }
    rows = countOf(dims);
  }

  template <typename T>
  void copy(const T* from, T* to) const {
    parallelFor(rows, inner, [&](int64_t row) {
      const T* x = from + offset(row);
      T* y = to + row * inner;
      if (innerStride == 1) {
        std::memcpy(y, x, static_cast<size_t>(inner) * sizeof(T));
        return;
      }
      for (int64_t i = 0; i < inner; ++i) {
        y[i] = x[i * innerStride];
      }
    });
  }

  int64_t offset(int64_t row) const {
    int64_t at = 0;
    for (size_t d = dims.size(); d > 0 && row > 0; --d) {
      at += row % dims[d - 1] * strides[d - 1];
      row /= dims[d - 1];
    }
    return at;
  }
};

KernelOr makeStrided(const Step& step, StridedRead read) {
  uint32_t in = step.inputs[0].buffer;
  uint32_t out = step.outputs[0].buffer;
  return dispatchSize(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, read = std::move(read)](void* const* buffers) {
      read.copy(static_cast<const T*>(buffers[in]), static_cast<T*>(buffers[out]));
      return 0;
    });
  });
}

/// reshape, squeeze, unsqueeze: the same bytes.
KernelOr createSame(const Step& step) {
  auto bytes = static_cast<int64_t>(step.outputs[0].desc.spec().byteSize());
  if (static_cast<int64_t>(step.inputs[0].desc.spec().byteSize()) != bytes) {
    return invalidStep(step, "input and result have different numbers of elements");
  }
  uint32_t in = step.inputs[0].buffer;
  uint32_t out = step.outputs[0].buffer;
  return makeKernel([=](void* const* buffers) {
    const char* from = static_cast<const char*>(buffers[in]);
    char* to = static_cast<char*>(buffers[out]);
    if (from != to) {
      parallelRanges(bytes, [&](int64_t begin, int64_t end) {
        std::memmove(to + begin, from + begin, static_cast<size_t>(end - begin));
      });
    }
    return 0;
  });
}

KernelOr createShape(const Step& step) {
  const Dims& in = step.inputs[0].desc.dims;
  auto rank = static_cast<int64_t>(in.size());
  GR_ASSIGN_OR_RETURN(int64_t start, attributeOr<int64_t>(step, "start", 0));
  GR_ASSIGN_OR_RETURN(int64_t end, attributeOr<int64_t>(step, "end", rank));
  auto place = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  int64_t first = place(start);
  int64_t last = std::max(first, place(end));
  Dims dims(in.begin() + first, in.begin() + last);
  if (step.outputs[0].desc.dims != Dims{last - first}) {
    return invalidStep(step, "the result does not have one element a dim");
  }
  return makeKernel([dims, out = step.outputs[0].buffer](void* const* buffers) {
    std::copy(dims.begin(), dims.end(), static_cast<int64_t*>(buffers[out]));
    return 0;
  });
}

KernelOr createTranspose(const Step& step) {
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& out = step.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims permutation, attribute<Dims>(step, "permutation"));
  Dims dense = denseStrides(in);
  Dims strides;
  bool fits = permutation.size() == in.size() && out.size() == in.size();
  for (size_t d = 0; fits && d < out.size(); ++d) {
    int64_t from = permutation[d];
    fits = from >= 0 && from < static_cast<int64_t>(in.size()) && in[from] == out[d] &&
           std::count(permutation.begin(), permutation.end(), from) == 1;
    if (fits) {
      strides.push_back(dense[from]);
    }
  }
  if (!fits) {
    return invalidStep(step, "permutation and shapes do not fit");
  }
  return makeStrided(step, StridedRead(out, std::move(strides)));
}

KernelOr createExpand(const Step& step) {
  const Dims& out = step.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims strides, broadcastStrides(step, step.inputs[0].desc.dims, out));
  return makeStrided(step, StridedRead(out, std::move(strides)));
}

/// Each dim becomes two: the repeats, which stand still, and the dim.
KernelOr createTile(const Step& step) {
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& out = step.outputs[0].desc.dims;
  Dims dense = denseStrides(in);
  Dims dims;
  Dims strides;
  for (size_t d = 0; d < in.size(); ++d) {
    if (out.size() != in.size() || (in[d] == 0 ? out[d] != 0 : out[d] % in[d] != 0)) {
      return invalidStep(step, "the result's dims are not multiples of the input's");
    }
    dims.insert(dims.end(), {in[d] == 0 ? 0 : out[d] / in[d], in[d]});
    strides.insert(strides.end(), {0, dense[d]});
  }
  if (out.size() != in.size()) {
    return invalidStep(step, "input and result have different ranks");
  }
  return makeStrided(step, StridedRead(std::move(dims), std::move(strides)));
}

/// The shape of `whole` without dim `axis` must be that of `part`.
bool sameBut(const Dims& part, const Dims& whole, size_t axis) {
  if (part.size() != whole.size()) {
    return false;
  }
  for (size_t d = 0; d < part.size(); ++d) {
    if (d != axis && part[d] != whole[d]) {
      return false;
    }
  }
  return true;
}

/// A part of a concatenation or split: `bytes` of each row of the whole, from `offset` on.
struct Part {
  uint32_t buffer;
  size_t bytes;
  size_t offset;
};

/// Parts along the axis of `whole`, checked to fill it.
struct Parts {
  std::vector<Part> list;
  int64_t rows = 0;
  size_t rowBytes = 0;
};

absl::StatusOr<Parts> partsOf(const Step& step, const Argument& whole,
                              const std::vector<Argument>& arguments) {
  const Dims& dims = whole.desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(step, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(step, given, dims.size()));
  auto at = static_cast<size_t>(axis);
  size_t tail = static_cast<size_t>(countOf(absl::MakeConstSpan(dims).subspan(at + 1))) *
                runtime::elementSize(whole.desc.type);
  Parts parts;
  int64_t total = 0;
  for (const Argument& argument : arguments) {
    const Dims& part = argument.desc.dims;
    if (!sameBut(part, dims, at)) {
      return invalidStep(step, "the shapes differ in more than the axis");
    }
    parts.list.push_back(
        {argument.buffer, static_cast<size_t>(part[at]) * tail, static_cast<size_t>(total) * tail});
    total += part[at];
  }
  if (total != dims[at]) {
    return invalidStep(step, absl::StrCat("the parts add up to ", total, ", expected ", dims[at]));
  }
  parts.rows = countOf(absl::MakeConstSpan(dims).subspan(0, at));
  parts.rowBytes = static_cast<size_t>(total) * tail;
  return parts;
}

template <bool kSplit>
KernelOr makeParts(uint32_t whole, Parts parts) {
  return makeKernel([whole, parts = std::move(parts)](void* const* buffers) {
    parallelFor(parts.rows, static_cast<int64_t>(parts.rowBytes), [&](int64_t row) {
      char* base = static_cast<char*>(buffers[whole]) + static_cast<size_t>(row) * parts.rowBytes;
      for (const Part& part : parts.list) {
        char* own =
            static_cast<char*>(buffers[part.buffer]) + static_cast<size_t>(row) * part.bytes;
        std::memcpy(kSplit ? own : base + part.offset, kSplit ? base + part.offset : own,
                    part.bytes);
      }
    });
    return 0;
  });
}

KernelOr createConcat(const Step& step) {
  GR_ASSIGN_OR_RETURN(Parts parts, partsOf(step, step.outputs[0], step.inputs));
  return makeParts<false>(step.outputs[0].buffer, std::move(parts));
}

KernelOr createSplit(const Step& step) {
  GR_ASSIGN_OR_RETURN(Parts parts, partsOf(step, step.inputs[0], step.outputs));
  return makeParts<true>(step.inputs[0].buffer, std::move(parts));
}

/// First index and number of elements that ONNX Slice takes of a dim.
struct Range {
  int64_t first, count;
};

Range rangeOf(int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (dim == 0) {
    return {0, 0};
  }
  auto place = [&](int64_t p, int64_t low, int64_t high) {
    return std::clamp<int64_t>(p < 0 ? p + dim : p, low, high);
  };
  if (step > 0) {
    int64_t first = place(start, 0, dim);
    int64_t last = place(end, 0, dim);
    return {first, last <= first ? 0 : (last - first - 1) / step + 1};
  }
  int64_t first = place(start, 0, dim - 1);
  int64_t last = end < -dim ? -1 : place(end, -1, dim - 1);
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
  static absl::StatusOr<SliceKernel> make(const Step& step) {
    SliceKernel kernel;
    kernel.in_ = step.inputs[0].desc.dims;
    kernel.out_ = step.outputs[0].desc.dims;
    kernel.dense_ = denseStrides(kernel.in_);
    for (size_t i = 0; i < 4; ++i) {
      GR_ASSIGN_OR_RETURN(IntOperand operand, IntOperand::make(step, i + 1));
      kernel.positions_.push_back(operand);
      if (operand.count != kernel.positions_[0].count) {
        return invalidStep(step, "starts, ends, axes and steps have different lengths");
      }
    }
    if (kernel.in_.size() != kernel.out_.size()) {
      return invalidStep(step, "input and result have different ranks");
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

KernelOr createSlice(const Step& step) {
  GR_ASSIGN_OR_RETURN(SliceKernel slice, SliceKernel::make(step));
  uint32_t in = step.inputs[0].buffer;
  uint32_t out = step.outputs[0].buffer;
  return dispatchSize(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
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
  static absl::StatusOr<PadKernel> make(const Step& step) {
    PadKernel kernel;
    kernel.in_ = step.inputs[0].desc.dims;
    kernel.out_ = step.outputs[0].desc.dims;
    kernel.strides_ = denseStrides(kernel.in_);
    GR_ASSIGN_OR_RETURN(IntOperand pads, IntOperand::make(step, 1));
    kernel.pads_ = pads;
    GR_ASSIGN_OR_RETURN(std::string mode, attribute<std::string>(step, "mode"));
    static constexpr absl::string_view kModes[] = {"constant", "reflect", "edge", "wrap"};
    const auto* found = std::find(std::begin(kModes), std::end(kModes), mode);
    if (found == std::end(kModes) || kernel.in_.size() != kernel.out_.size() ||
        pads.count != 2 * static_cast<int64_t>(kernel.in_.size()) ||
        countOf(step.inputs[2].desc.dims) < 1) {
      return invalidStep(step, "mode, pads, value and shapes do not fit");
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

KernelOr createPad(const Step& step) {
  GR_ASSIGN_OR_RETURN(PadKernel pad, PadKernel::make(step));
  uint32_t in = step.inputs[0].buffer;
  uint32_t value = step.inputs[2].buffer;
  uint32_t out = step.outputs[0].buffer;
  return dispatchSize(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
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

KernelOr createGather(const Step& step) {
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& picks = step.inputs[1].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(step, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(step, given, in.size()));
  GR_ASSIGN_OR_RETURN(IntOperand indices, IntOperand::make(step, 1));
  Dims expected(in.begin(), in.begin() + axis);
  expected.insert(expected.end(), picks.begin(), picks.end());
  expected.insert(expected.end(), in.begin() + axis + 1, in.end());
  if (expected != step.outputs[0].desc.dims) {
    return invalidStep(step, "the shapes of input, indices and result do not fit");
  }
  int64_t dim = in[static_cast<size_t>(axis)];
  int64_t outer = countOf(absl::MakeConstSpan(in).subspan(0, static_cast<size_t>(axis)));
  size_t bytes =
      static_cast<size_t>(countOf(absl::MakeConstSpan(in).subspan(static_cast<size_t>(axis) + 1))) *
      runtime::elementSize(step.inputs[0].desc.type);
  uint32_t from = step.inputs[0].buffer;
  uint32_t to = step.outputs[0].buffer;
  return makeIndexKernel(step, indices, {dim}, [=](void* const* buffers) {
    for (int64_t i = 0; i < indices.count; ++i) {
      int64_t at = indices.at(buffers, i);
      if (at < -dim || at >= dim) {
        return kWrongIndex;
      }
    }
    const char* x = static_cast<const char*>(buffers[from]);
    char* y = static_cast<char*>(buffers[to]);
    parallelFor(outer * indices.count, static_cast<int64_t>(bytes), [&](int64_t row) {
      int64_t at = indices.at(buffers, row % indices.count);
      at += at < 0 ? dim : 0;
      std::memcpy(y + static_cast<size_t>(row) * bytes,
                  x + static_cast<size_t>(row / indices.count * dim + at) * bytes, bytes);
    });
    return 0;
  });
}

/// Operands: the shape, and the value as a second one (the operation has it as an attribute).
KernelOr createFill(const Step& step) {
  if (countOf(step.inputs[1].desc.dims) != 1) {
    return invalidStep(step, "the value is not one element");
  }
  const Dims& out = step.outputs[0].desc.dims;
  uint32_t value = step.inputs[1].buffer;
  uint32_t to = step.outputs[0].buffer;
  int64_t count = countOf(out);
  return dispatchSize(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) {
      parallelRanges(count, [&](int64_t begin, int64_t end) {
        std::fill(static_cast<T*>(buffers[to]) + begin, static_cast<T*>(buffers[to]) + end,
                  *static_cast<const T*>(buffers[value]));
      });
      return 0;
    });
  });
}

constexpr size_t kMany = 1 << 20;

constexpr ReferenceEntry kEntries[] = {
    {"gr.shape", TypeRule::kShape, createShape},
    {"gr.reshape", TypeRule::kMove, createSame, 1, 2},
    {"gr.squeeze", TypeRule::kMove, createSame},
    {"gr.unsqueeze", TypeRule::kMove, createSame},
    {"gr.transpose", TypeRule::kMove, createTranspose},
    {"gr.concat", TypeRule::kSame, createConcat, 1, kMany},
    {"gr.split", TypeRule::kSame, createSplit, 1, 1, 0},
    {"gr.slice", TypeRule::kMove, createSlice, 5},
    {"gr.pad", TypeRule::kPad, createPad, 3},
    {"gr.gather", TypeRule::kMove, createGather, 2},
    {"gr.expand", TypeRule::kMove, createExpand, 1, 2},
    {"gr.tile", TypeRule::kMove, createTile, 1, 2},
    {"gr.fill", TypeRule::kFill, createFill, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceTensor() { return kEntries; }

}  // namespace graphrun::devices::cpu
