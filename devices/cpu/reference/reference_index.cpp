// Gathering and scattering by index.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "devices/cpu/reference/index_kernel.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// `index` in [0, dim), or -1.
int64_t wrapped(int64_t index, int64_t dim) {
  index += index < 0 ? dim : 0;
  return index >= 0 && index < dim ? index : -1;
}

/// Indices that are wrapped together.
constexpr int64_t kIndices = 256;
using Indices = std::array<int64_t, kIndices>;

/// Indices in [-dim, dim) as those from 0 on. The highest bit of what it gives is set when there
/// is one outside: without comparisons, which compilers take apart, as i + dim or dim - 1 - i is
/// negative, or wraps to where it is, for those.
template <typename T>
uint64_t wrapIndices(const T* indices, int64_t count, uint64_t dim, int64_t* wrapped) {
  uint64_t signs = 0;
#pragma omp simd reduction(| : signs)
  for (int64_t j = 0; j < count; ++j) {
    auto index = static_cast<int64_t>(indices[j]);
    auto i = static_cast<uint64_t>(index);
    signs |= (i + dim) | (dim - 1 - i);
    wrapped[j] = static_cast<int64_t>(i + (static_cast<uint64_t>(index >> 63) & dim));
  }
  return signs;
}

/// ElementOffsets say where the elements of an index tensor point to: for each of its rows along
/// the last dim a base in the data, and how index and column add to it.
struct ElementOffsets {
  Dims rows;        ///< dims of the indices but the last
  Dims strides;     ///< of the data over them, 0 on the axis
  int64_t columns;  ///< the last dim of the indices
  int64_t axisStride, columnStride;
  int64_t dim;  ///< of the data, on the axis
  IntOperand indices;
  bool narrow;  ///< of i32: read without a call too

  static absl::StatusOr<ElementOffsets> make(const Instruction& instruction) {
    const Dims& data = instruction.inputs[0].desc.dims;
    const Dims& picks = instruction.inputs[1].desc.dims;
    GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(instruction, "axis"));
    GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, data.size()));
    GR_ASSIGN_OR_RETURN(IntOperand indices, IntOperand::make(instruction, 1));
    if (picks.size() != data.size()) {
      return invalidInstruction(instruction, "input and indices have different ranks");
    }
    auto at = static_cast<size_t>(axis);
    for (size_t d = 0; d < data.size(); ++d) {
      if (d != at && picks[d] > data[d]) {
        return invalidInstruction(instruction, absl::StrCat("dim ", d, " of indices is ", picks[d],
                                                            ", the input's is ", data[d]));
      }
    }
    Dims strides = denseStrides(data);
    int64_t axisStride = strides[at];
    strides[at] = 0;
    int64_t columnStride = strides.back();
    strides.pop_back();
    return ElementOffsets{Dims(picks.begin(), picks.end() - 1),
                          std::move(strides),
                          picks.back(),
                          axisStride,
                          columnStride,
                          data[at],
                          indices,
                          instruction.inputs[1].desc.type == ElementType::kI32};
  }

  int64_t rowCount() const { return countOf(rows); }
  int64_t base(int64_t row) const {
    int64_t at = 0;
    for (size_t d = rows.size(); d > 0; --d) {
      at += row % rows[d - 1] * strides[d - 1];
      row /= rows[d - 1];
    }
    return at;
  }
  /// Offset in the data of index `column` of a row that starts at `base`; -1 when out of range.
  int64_t offset(void* const* buffers, int64_t row, int64_t base, int64_t column) const {
    int64_t index = wrapped(indices.at(buffers, row * columns + column), dim);
    return index < 0 ? -1 : base + index * axisStride + column * columnStride;
  }
  bool inRange(void* const* buffers) const {
    Indices wrapped;
    bool good = true;
    for (int64_t i = 0; i < indices.count && good; i += kIndices) {
      good = wrap(buffers, i, std::min(kIndices, indices.count - i), wrapped);
    }
    return good;
  }

  /// Calls `body(i, offset)` for the indices i of rows [begin, end); false when one is out of
  /// range, before it comes to that.
  template <typename Body>
  bool forEach(void* const* buffers, int64_t begin, int64_t end, const Body& body) const {
    if (columns == 0) {
      return true;
    }
    Indices wrapped;
    int64_t row = begin;
    int64_t column = 0;
    int64_t start = base(row);
    // Whole rows, as many as can be, or a part of one.
    int64_t most = columns < kIndices ? kIndices / columns * columns : kIndices;
    for (int64_t i = begin * columns; i < end * columns;) {
      int64_t left = columns < kIndices ? end * columns - i : columns - column;
      int64_t count = std::min(most, left);
      if (!wrap(buffers, i, count, wrapped)) {
        return false;
      }
      for (int64_t done = 0; done < count;) {
        int64_t length = std::min(count - done, columns - column);
        alongRow(wrapped.data() + done, length, start + column * columnStride,
                 [&](int64_t j, int64_t offset) { body(i + done + j, offset); });
        done += length;
        column += length;
        if (column == columns) {
          column = 0;
          start = nextBase(++row, start);
        }
      }
      i += count;
    }
    return true;
  }

 private:
  template <typename Body>
  void alongRow(const int64_t* indices, int64_t count, int64_t start, const Body& body) const {
    if (axisStride == 1 && columnStride == 0) {
      // Along the last axis, as mostly.
      for (int64_t j = 0; j < count; ++j) {
        body(j, start + indices[j]);
      }
      return;
    }
    for (int64_t j = 0; j < count; ++j) {
      body(j, start + indices[j] * axisStride + j * columnStride);
    }
  }

  /// The base of a row behind one of base `before`; divides only where a dim begins anew.
  int64_t nextBase(int64_t row, int64_t before) const {
    return rows.empty() || row % rows.back() == 0 ? base(row) : before + strides.back();
  }

  /// Wraps the indices [first, first + count), at most kIndices; false when one is out of
  /// range.
  bool wrap(void* const* buffers, int64_t first, int64_t count, Indices& wrapped) const {
    const void* all = buffers[indices.buffer];
    uint64_t signs = 0;
    auto make = [&](const auto* from) {
      runWide(
          [&] { signs = wrapIndices(from, count, static_cast<uint64_t>(dim), wrapped.data()); });
    };
    if (indices.wide) {
      make(static_cast<const int64_t*>(all) + first);
    } else if (narrow) {
      make(static_cast<const int32_t*>(all) + first);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        wrapped[static_cast<size_t>(i)] = indices.at(buffers, first + i);
      }
      make(wrapped.data());
    }
    return signs >> 63 == 0;
  }
};

KernelOr createGatherElements(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(ElementOffsets offsets, ElementOffsets::make(instruction));
  if (instruction.outputs[0].desc.dims != instruction.inputs[1].desc.dims) {
    return invalidInstruction(instruction, "the result does not have the shape of indices");
  }
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchSize(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    const IntOperand indices = offsets.indices;
    Dims bounds = {offsets.dim};
    return makeIndexKernel(
        instruction, indices, std::move(bounds),
        [=, offsets = std::move(offsets)](void* const* buffers) {
          constexpr int64_t kSome = 4096;  // indices that are worth a thread's turn
          std::atomic<int> code = 0;
          const T* x = static_cast<const T*>(buffers[in]);
          T* y = static_cast<T*>(buffers[out]);
          int64_t count = offsets.rowCount();
          int64_t some = kSome / std::max<int64_t>(1, offsets.columns) + 1;
          parallelFor((count + some - 1) / some, some * offsets.columns, [&](int64_t part) {
            int64_t end = std::min(count, (part + 1) * some);
            if (!offsets.forEach(buffers, part * some, end,
                                 [&](int64_t i, int64_t offset) { y[i] = x[offset]; })) {
              code.store(kWrongIndex, std::memory_order_relaxed);
            }
          });
          return code.load();
        });
  });
}

/// Slices of the data that the index vectors in the second operand name.
struct SliceOffsets {
  Dims dims, strides;  ///< of the data over the positions of a vector, strides in slices
  int64_t batches, batchStride;
  int64_t perBatch;  ///< vectors
  int64_t slice;     ///< elements
  IntOperand indices;

  static absl::StatusOr<SliceOffsets> make(const Instruction& instruction, int64_t batchDims) {
    const Dims& data = instruction.inputs[0].desc.dims;
    const Dims& vectors = instruction.inputs[1].desc.dims;
    GR_ASSIGN_OR_RETURN(IntOperand indices, IntOperand::make(instruction, 1));
    auto rank = static_cast<int64_t>(data.size());
    bool fits = !vectors.empty() && batchDims >= 0 && batchDims <= rank &&
                batchDims < static_cast<int64_t>(vectors.size()) &&
                vectors.back() <= rank - batchDims &&
                std::equal(data.begin(), data.begin() + batchDims, vectors.begin());
    if (!fits) {
      return invalidInstruction(instruction, "the shapes of input and indices do not fit");
    }
    auto first = data.begin() + batchDims;
    SliceOffsets offsets{Dims(first, first + vectors.back()), {}, 1, 1, 1, 1, indices};
    offsets.strides = denseStrides(offsets.dims);
    offsets.batches = countOf(Dims(data.begin(), first));
    offsets.batchStride = countOf(offsets.dims);
    offsets.perBatch = countOf(Dims(vectors.begin() + batchDims, vectors.end() - 1));
    offsets.slice = countOf(Dims(first + vectors.back(), data.end()));
    return offsets;
  }

  int64_t count() const { return batches * perBatch; }
  /// The number of the slice that vector `i` names; -1 when out of range.
  int64_t at(void* const* buffers, int64_t i) const {
    int64_t offset = batches == 1 ? 0 : i / perBatch * batchStride;
    auto depth = static_cast<int64_t>(dims.size());
    for (int64_t d = 0; d < depth; ++d) {
      auto dim = static_cast<size_t>(d);
      int64_t index = wrapped(indices.at(buffers, i * depth + d), dims[dim]);
      if (index < 0) {
        return -1;
      }
      offset += index * strides[dim];
    }
    return offset;
  }
  bool inRange(void* const* buffers) const {
    for (int64_t i = 0; i < count(); ++i) {
      if (at(buffers, i) < 0) {
        return false;
      }
    }
    return true;
  }
};

KernelOr createGatherNd(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(int64_t batchDims, attributeOr<int64_t>(instruction, "batch_dims", 0));
  GR_ASSIGN_OR_RETURN(SliceOffsets offsets, SliceOffsets::make(instruction, batchDims));
  if (offsets.count() * offsets.slice != countOf(instruction.outputs[0].desc.dims)) {
    return invalidInstruction(instruction, "the shapes of input, indices and result do not fit");
  }
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  size_t bytes =
      static_cast<size_t>(offsets.slice) * runtime::elementSize(instruction.inputs[0].desc.type);
  const IntOperand indices = offsets.indices;
  Dims bounds = offsets.dims;
  return makeIndexKernel(
      instruction, indices, std::move(bounds),
      [=, offsets = std::move(offsets)](void* const* buffers) {
        if (!offsets.inRange(buffers)) {
          return kWrongIndex;
        }
        const char* x = static_cast<const char*>(buffers[in]);
        char* y = static_cast<char*>(buffers[out]);
        parallelFor(offsets.count(), static_cast<int64_t>(bytes), [&](int64_t i) {
          std::memcpy(y + static_cast<size_t>(i) * bytes,
                      x + static_cast<size_t>(offsets.at(buffers, i)) * bytes, bytes);
        });
        return 0;
      });
}

// How an update joins what is there.
struct Replace {
  template <typename C>
  static C apply(C, C x) {
    return x;
  }
};
struct Add {
  template <typename C>
  static C apply(C a, C x) {
    if constexpr (std::is_same_v<C, bool>) {
      return a || x;
    } else if constexpr (std::is_floating_point_v<C>) {
      return a + x;
    } else {
      return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(x));
    }
  }
};
struct Multiply {
  template <typename C>
  static C apply(C a, C x) {
    if constexpr (std::is_same_v<C, bool>) {
      return a && x;
    } else if constexpr (std::is_floating_point_v<C>) {
      return a * x;
    } else {
      return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(x));
    }
  }
};
struct Minimum {
  template <typename C>
  static C apply(C a, C x) {
    return a != a || a < x ? a : x;
  }
};
struct Maximum {
  template <typename C>
  static C apply(C a, C x) {
    return a != a || a > x ? a : x;
  }
};

/// Calls `f.template operator()<Join>()` with the reduction that the instruction names.
template <typename F>
KernelOr dispatchReduction(const Instruction& instruction, const F& f) {
  GR_ASSIGN_OR_RETURN(std::string name, attributeOr<std::string>(instruction, "reduction", "none"));
  if (name == "none") {
    return f.template operator()<Replace>();
  }
  if (name == "add") {
    return f.template operator()<Add>();
  }
  if (name == "mul") {
    return f.template operator()<Multiply>();
  }
  if (name == "min") {
    return f.template operator()<Minimum>();
  }
  if (name == "max") {
    return f.template operator()<Maximum>();
  }
  return invalidInstruction(instruction, absl::StrCat("reduction is \"", name,
                                                      "\", expected none, add, mul, min or max"));
}

void copyBytes(const void* from, void* to, int64_t bytes) {
  if (from != to) {
    parallelRanges(bytes, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                  static_cast<size_t>(end - begin));
    });
  }
}

template <typename Join, typename T>
void join(T& there, T update) {
  there = store<T>(Join::apply(load(there), load(update)));
}

absl::Status checkScatter(const Instruction& instruction, int64_t updates) {
  if (instruction.outputs[0].desc.dims != instruction.inputs[0].desc.dims ||
      countOf(instruction.inputs[2].desc.dims) != updates) {
    return invalidInstruction(instruction,
                              "the shapes of input, indices, updates and result do not fit");
  }
  return absl::OkStatus();
}

template <typename Join, typename T>
KernelOr makeScatterElements(const Instruction& instruction, ElementOffsets offsets) {
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t from = instruction.inputs[2].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  auto bytes = static_cast<int64_t>(instruction.outputs[0].desc.spec().byteSize());
  const IntOperand indices = offsets.indices;
  Dims bounds = {offsets.dim};
  return makeIndexKernel(instruction, indices, std::move(bounds),
                         [=, offsets = std::move(offsets)](void* const* buffers) {
                           if (!offsets.inRange(buffers)) {
                             return kWrongIndex;
                           }
                           copyBytes(buffers[in], buffers[out], bytes);
                           const T* updates = static_cast<const T*>(buffers[from]);
                           T* y = static_cast<T*>(buffers[out]);
                           int64_t rows = offsets.columns == 0 ? 0 : offsets.rowCount();
                           for (int64_t row = 0; row < rows; ++row) {
                             int64_t base = offsets.base(row);
                             for (int64_t i = 0; i < offsets.columns; ++i) {
                               join<Join>(y[offsets.offset(buffers, row, base, i)],
                                          updates[row * offsets.columns + i]);
                             }
                           }
                           return 0;
                         });
}

KernelOr createScatterElements(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(ElementOffsets offsets, ElementOffsets::make(instruction));
  GR_RETURN_IF_ERROR(checkScatter(instruction, offsets.indices.count));
  return dispatchReduction(instruction, [&]<typename Join>() -> KernelOr {
    return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
      return makeScatterElements<Join, T>(instruction, offsets);
    });
  });
}

template <typename Join, typename T>
KernelOr makeScatterNd(const Instruction& instruction, SliceOffsets offsets) {
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t from = instruction.inputs[2].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  auto bytes = static_cast<int64_t>(instruction.outputs[0].desc.spec().byteSize());
  const IntOperand indices = offsets.indices;
  Dims bounds = offsets.dims;
  return makeIndexKernel(instruction, indices, std::move(bounds),
                         [=, offsets = std::move(offsets)](void* const* buffers) {
                           if (!offsets.inRange(buffers)) {
                             return kWrongIndex;
                           }
                           copyBytes(buffers[in], buffers[out], bytes);
                           const T* updates = static_cast<const T*>(buffers[from]);
                           for (int64_t i = 0; i < offsets.count(); ++i) {
                             T* y = static_cast<T*>(buffers[out]) +
                                    offsets.at(buffers, i) * offsets.slice;
                             if constexpr (std::is_same_v<Join, Replace>) {
                               std::copy_n(updates + i * offsets.slice, offsets.slice, y);
                               continue;
                             }
                             for (int64_t j = 0; j < offsets.slice; ++j) {
                               join<Join>(y[j], updates[i * offsets.slice + j]);
                             }
                           }
                           return 0;
                         });
}

KernelOr createScatterNd(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(SliceOffsets offsets, SliceOffsets::make(instruction, 0));
  GR_RETURN_IF_ERROR(checkScatter(instruction, offsets.count() * offsets.slice));
  return dispatchReduction(instruction, [&]<typename Join>() -> KernelOr {
    return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
      return makeScatterNd<Join, T>(instruction, offsets);
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.gather_elements", TypeRule::kMove, createGatherElements, 2},
    {"gr.gather_nd", TypeRule::kMove, createGatherNd, 2},
    {"gr.scatter_elements", TypeRule::kUpdate, createScatterElements, 3},
    {"gr.scatter_nd", TypeRule::kUpdate, createScatterNd, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceIndex() { return kEntries; }

}  // namespace graphrun::devices::cpu
