// Positions: ranges, indices of what is not zero.
#include <algorithm>

#include "devices/cpu/reference/index_kernel.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

constexpr const char* kRangeMessages[] = {
    "start, limit and delta at run time give another length than was planned", "delta is 0"};

/// Number of elements of a range; `delta` is not 0.
template <typename C>
int64_t rangeCount(C start, C limit, C delta) {
  if (delta > C{0} ? limit <= start : limit >= start) {
    return 0;
  }
  if constexpr (std::is_floating_point_v<C>) {
    double count = std::ceil((double{limit} - double{start}) / double{delta});
    return std::isfinite(count) && count < 0x1p62 ? static_cast<int64_t>(count) : -1;
  } else {
    auto wide = [](C value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
    uint64_t distance = wide(limit) - wide(start);
    uint64_t by = wide(delta);
    bool up = delta > C{0};
    return static_cast<int64_t>(((up ? distance : 0 - distance) - 1) / (up ? by : 0 - by) + 1);
  }
}

template <typename C>
C rangeElement(C start, C delta, int64_t i) {
  if constexpr (std::is_floating_point_v<C>) {
    return start + static_cast<C>(i) * delta;
  } else {
    return static_cast<C>(static_cast<uint64_t>(start) +
                          static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
  }
}

KernelOr createRange(const Instruction& instruction) {
  for (const Argument& input : instruction.inputs) {
    if (countOf(input.desc.dims) != 1) {
      return invalidInstruction(instruction, "start, limit and delta are not one element each");
    }
  }
  uint32_t in[] = {instruction.inputs[0].buffer, instruction.inputs[1].buffer,
                   instruction.inputs[2].buffer};
  uint32_t out = instruction.outputs[0].buffer;
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    if constexpr (std::is_same_v<T, Boolean>) {
      return invalidInstruction(instruction, "is not defined on bool");
    } else {
      return makeKernel(
          [=](void* const* buffers) {
            Compute<T> start = load(*static_cast<const T*>(buffers[in[0]]));
            Compute<T> limit = load(*static_cast<const T*>(buffers[in[1]]));
            Compute<T> delta = load(*static_cast<const T*>(buffers[in[2]]));
            if (delta == Compute<T>{0}) {
              return 2;
            }
            if (rangeCount(start, limit, delta) != count) {
              return 1;
            }
            parallelRanges(count, [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                static_cast<T*>(buffers[out])[i] = store<T>(rangeElement(start, delta, i));
              }
            });
            return 0;
          },
          kRangeMessages);
    }
  });
}

/// Columns of the elements of a row that are not 0, in order; gives their number. Every element's
/// is written, to where the next one's belongs: nothing is to be guessed.
template <typename T>
int64_t listColumns(const T* x, int64_t columns, int64_t* list) {
  int64_t found = 0;
  for (int64_t i = 0; i < columns; ++i) {
    list[found] = i;
    found += load(x[i]) != Compute<T>{0} ? 1 : 0;
  }
  return found;
}

/// Writes the indices of what is not zero; `at` is scratch for one index. Gives their number.
template <typename T>
int64_t writePositions(const T* x, const Dims& dims, int64_t count, Dims& at, int64_t* positions) {
  if (dims.empty()) {
    return load(x[0]) != Compute<T>{0} ? 1 : 0;
  }
  std::fill(at.begin(), at.end(), 0);
  size_t last = dims.size() - 1;
  int64_t columns = dims[last];
  int64_t found = 0;
  for (int64_t first = 0; first < count; first += columns) {
    int64_t* list = positions + static_cast<int64_t>(last) * count + found;
    int64_t more = listColumns(x + first, columns, list);
    for (size_t d = 0; d < last; ++d) {
      std::fill_n(positions + static_cast<int64_t>(d) * count + found, more, at[d]);
    }
    found += more;
    for (size_t d = last; d > 0 && ++at[d - 1] == dims[d - 1]; --d) {
      at[d - 1] = 0;
    }
  }
  for (size_t d = 0; d <= last; ++d) {
    std::fill_n(positions + static_cast<int64_t>(d) * count + found, count - found, 0);
  }
  return found;
}

KernelOr createNonZero(const Instruction& instruction) {
  const Dims& dims = instruction.inputs[0].desc.dims;
  int64_t count = countOf(dims);
  if (instruction.outputs[0].desc.dims != Dims{static_cast<int64_t>(dims.size()), count} ||
      countOf(instruction.outputs[1].desc.dims) != 1) {
    return invalidInstruction(instruction, "the shapes of input and results do not fit");
  }
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t positions = instruction.outputs[0].buffer;
  uint32_t found = instruction.outputs[1].buffer;
  return dispatchElement(instruction.inputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, at = dims](void* const* buffers) mutable {
      auto* to = static_cast<int64_t*>(buffers[positions]);
      *static_cast<int64_t*>(buffers[found]) =
          writePositions(static_cast<const T*>(buffers[in]), dims, count, at, to);
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.range", TypeRule::kNumeric, createRange, 3},
    {"gr.non_zero", TypeRule::kIndices, createNonZero, 1, 1, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referencePositions() { return kEntries; }

}  // namespace graphrun::devices::cpu
