// Movement of data. Works on elements by size, whatever their type.
#include <algorithm>
#include <cstring>

#include "devices/cpu/reference/index_kernel.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

/// A dense result read from strided offsets: nested loops, merged where they run on.
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

KernelOr makeStrided(const Instruction& instruction, StridedRead read) {
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchSize(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, read = std::move(read)](void* const* buffers) {
      read.copy(static_cast<const T*>(buffers[in]), static_cast<T*>(buffers[out]));
      return 0;
    });
  });
}

/// reshape, squeeze, unsqueeze: the same bytes.
KernelOr createSame(const Instruction& instruction) {
  auto bytes = static_cast<int64_t>(instruction.outputs[0].desc.spec().byteSize());
  if (static_cast<int64_t>(instruction.inputs[0].desc.spec().byteSize()) != bytes) {
    return invalidInstruction(instruction, "input and result have different numbers of elements");
  }
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
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

KernelOr createShape(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  auto rank = static_cast<int64_t>(in.size());
  GR_ASSIGN_OR_RETURN(int64_t start, attributeOr<int64_t>(instruction, "start", 0));
  GR_ASSIGN_OR_RETURN(int64_t end, attributeOr<int64_t>(instruction, "end", rank));
  auto clamped = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  int64_t first = clamped(start);
  int64_t last = std::max(first, clamped(end));
  Dims dims(in.begin() + first, in.begin() + last);
  if (instruction.outputs[0].desc.dims != Dims{last - first}) {
    return invalidInstruction(instruction, "the result does not have one element a dim");
  }
  return makeKernel([dims, out = instruction.outputs[0].buffer](void* const* buffers) {
    std::copy(dims.begin(), dims.end(), static_cast<int64_t*>(buffers[out]));
    return 0;
  });
}

KernelOr createTranspose(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims permutation, attribute<Dims>(instruction, "permutation"));
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
    return invalidInstruction(instruction, "permutation and shapes do not fit");
  }
  return makeStrided(instruction, StridedRead(out, std::move(strides)));
}

KernelOr createExpand(const Instruction& instruction) {
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims strides,
                      broadcastStrides(instruction, instruction.inputs[0].desc.dims, out));
  return makeStrided(instruction, StridedRead(out, std::move(strides)));
}

/// Each dim becomes two: the repeats, which stand still, and the dim.
KernelOr createTile(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  Dims dense = denseStrides(in);
  Dims dims;
  Dims strides;
  for (size_t d = 0; d < in.size(); ++d) {
    if (out.size() != in.size() || (in[d] == 0 ? out[d] != 0 : out[d] % in[d] != 0)) {
      return invalidInstruction(instruction, "the result's dims are not multiples of the input's");
    }
    dims.insert(dims.end(), {in[d] == 0 ? 0 : out[d] / in[d], in[d]});
    strides.insert(strides.end(), {0, dense[d]});
  }
  if (out.size() != in.size()) {
    return invalidInstruction(instruction, "input and result have different ranks");
  }
  return makeStrided(instruction, StridedRead(std::move(dims), std::move(strides)));
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

absl::StatusOr<Parts> partsOf(const Instruction& instruction, const Argument& whole,
                              const std::vector<Argument>& arguments) {
  const Dims& dims = whole.desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(instruction, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, dims.size()));
  auto at = static_cast<size_t>(axis);
  size_t tail = static_cast<size_t>(countOf(absl::MakeConstSpan(dims).subspan(at + 1))) *
                runtime::elementSize(whole.desc.type);
  Parts parts;
  int64_t total = 0;
  for (const Argument& argument : arguments) {
    const Dims& part = argument.desc.dims;
    if (!sameBut(part, dims, at)) {
      return invalidInstruction(instruction, "the shapes differ in more than the axis");
    }
    parts.list.push_back(
        {argument.buffer, static_cast<size_t>(part[at]) * tail, static_cast<size_t>(total) * tail});
    total += part[at];
  }
  if (total != dims[at]) {
    return invalidInstruction(instruction,
                              absl::StrCat("the parts add up to ", total, ", expected ", dims[at]));
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

KernelOr createConcat(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Parts parts,
                      partsOf(instruction, instruction.outputs[0], instruction.inputs));
  return makeParts<false>(instruction.outputs[0].buffer, std::move(parts));
}

KernelOr createSplit(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Parts parts,
                      partsOf(instruction, instruction.inputs[0], instruction.outputs));
  return makeParts<true>(instruction.inputs[0].buffer, std::move(parts));
}

KernelOr createGather(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& picks = instruction.inputs[1].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(instruction, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, in.size()));
  GR_ASSIGN_OR_RETURN(IntOperand indices, IntOperand::make(instruction, 1));
  Dims expected(in.begin(), in.begin() + axis);
  expected.insert(expected.end(), picks.begin(), picks.end());
  expected.insert(expected.end(), in.begin() + axis + 1, in.end());
  if (expected != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "the shapes of input, indices and result do not fit");
  }
  int64_t dim = in[static_cast<size_t>(axis)];
  int64_t outer = countOf(absl::MakeConstSpan(in).subspan(0, static_cast<size_t>(axis)));
  size_t bytes =
      static_cast<size_t>(countOf(absl::MakeConstSpan(in).subspan(static_cast<size_t>(axis) + 1))) *
      runtime::elementSize(instruction.inputs[0].desc.type);
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  return makeIndexKernel(instruction, indices, {dim}, [=](void* const* buffers) {
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
KernelOr createFill(const Instruction& instruction) {
  if (countOf(instruction.inputs[1].desc.dims) != 1) {
    return invalidInstruction(instruction, "the value is not one element");
  }
  const Dims& out = instruction.outputs[0].desc.dims;
  uint32_t value = instruction.inputs[1].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  int64_t count = countOf(out);
  return dispatchSize(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
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
    {"gr.gather", TypeRule::kMove, createGather, 2},
    {"gr.expand", TypeRule::kMove, createExpand, 1, 2},
    {"gr.tile", TypeRule::kMove, createTile, 1, 2},
    {"gr.fill", TypeRule::kFill, createFill, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceTensor() { return kEntries; }

}  // namespace graphrun::devices::cpu
