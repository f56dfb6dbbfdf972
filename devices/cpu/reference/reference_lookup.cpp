// Indices of categories in lists of keys, and n-grams in pools: hash tables over constants.
#include <algorithm>
#include <bit>
#include <cstring>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

/// A hash of 64 bits (the finaliser of MurmurHash3).
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

/// Equal for elements that count as equal: +0 and -0, and all NaN.
template <typename T>
uint64_t identityOf(T element) {
  Compute<T> x = load(element);
  if constexpr (std::is_floating_point_v<Compute<T>>) {
    double wide = std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : double{x} + 0.0;
    return std::bit_cast<uint64_t>(wide);
  } else {
    return static_cast<uint64_t>(x);
  }
}

/// A table of (owner, key) -> value >= 0 with open addressing, of fixed capacity: no allocation
/// after it was made.
class FixedTable {
 public:
  /// Room for `entries`.
  explicit FixedTable(int64_t entries)
      : slots_(std::bit_ceil(static_cast<uint64_t>(2 * entries + 2))) {}

  void clear() { std::fill(slots_.begin(), slots_.end(), Slot()); }
  void set(int64_t owner, uint64_t key, int64_t value) {
    Slot& slot = slots_[find(owner, key)];
    slot = {key, owner, value};
  }
  /// -1 where there is none.
  int64_t get(int64_t owner, uint64_t key) const { return slots_[find(owner, key)].value; }

 private:
  struct Slot {
    uint64_t key = 0;
    int64_t owner = 0;
    int64_t value = -1;
  };

  size_t find(int64_t owner, uint64_t key) const {
    uint64_t mask = slots_.size() - 1;
    uint64_t at = mix(key + mix(static_cast<uint64_t>(owner) + 1)) & mask;
    while (slots_[at].value >= 0 && (slots_[at].key != key || slots_[at].owner != owner)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  std::vector<Slot> slots_;
};

/// This holds what a kernel has built from a constant operand; it is built again only when its
/// elements change.
template <typename T>
class BuiltFrom {
 public:
  explicit BuiltFrom(int64_t count) : seen_(static_cast<size_t>(count)) {}

  /// True when `elements` are not those of the last call.
  bool changes(const T* elements) {
    if (valid_ && std::memcmp(seen_.data(), elements, seen_.size() * sizeof(T)) == 0) {
      return false;
    }
    std::copy(elements, elements + seen_.size(), seen_.begin());
    valid_ = true;
    return true;
  }

 private:
  std::vector<T> seen_;
  bool valid_ = false;
};

constexpr const char* kLookupMessages[] = {"an element is none of the categories"};

template <typename T>
KernelOr makeLookup(const Instruction& instruction, bool required) {
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t keys = instruction.inputs[1].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  int64_t count = countOf(instruction.inputs[0].desc.dims);
  int64_t keyCount = countOf(instruction.inputs[1].desc.dims);
  return makeKernel(
      [=, table = FixedTable(keyCount),
       built = BuiltFrom<T>(keyCount)](void* const* buffers) mutable {
        const T* key = static_cast<const T*>(buffers[keys]);
        if (built.changes(key)) {
          table.clear();
          for (int64_t k = 0; k < keyCount; ++k) {
            table.set(0, identityOf(key[k]), k);
          }
        }
        const T* x = static_cast<const T*>(buffers[in]);
        auto* y = static_cast<int64_t*>(buffers[out]);
        const FixedTable& indices = table;
        parallelRanges(count, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t index = indices.get(0, identityOf(x[i]));
            y[i] = index < 0 ? keyCount : index;
          }
        });
        return required && std::find(y, y + count, keyCount) != y + count ? 1 : 0;
      },
      kLookupMessages);
}

KernelOr createLookup(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(bool required, attributeOr<bool>(instruction, "required", false));
  if (instruction.inputs[0].desc.type != instruction.inputs[1].desc.type ||
      instruction.inputs[1].desc.dims.size() != 1 ||
      instruction.inputs[0].desc.dims != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction,
                              "keys are no vector of the input's type, or the result is no index "
                              "for each element");
  }
  return dispatchElement(instruction.inputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeLookup<T>(instruction, required);
  });
}

/// The n-grams of a pool as a tree: an n-gram is a path from the root.
class NgramTree {
 public:
  NgramTree(int64_t poolSize, std::vector<int64_t> starts, std::vector<int64_t> indices,
            int64_t shortest, int64_t longest)
      : edges_(poolSize),
        indexOf_(static_cast<size_t>(poolSize) + 1, -1),
        poolSize_(poolSize),
        starts_(std::move(starts)),
        indices_(std::move(indices)),
        shortest_(shortest),
        longest_(longest) {}

  void build(const int64_t* pool) {
    edges_.clear();
    std::fill(indexOf_.begin(), indexOf_.end(), -1);
    nodes_ = 1;
    size_t ngram = 0;
    for (size_t s = 0; s < starts_.size(); ++s) {
      auto length = static_cast<int64_t>(s + 1);
      int64_t end = s + 1 < starts_.size() ? starts_[s + 1] : poolSize_;
      bool wanted = length >= shortest_ && length <= longest_;
      for (int64_t at = starts_[s]; at + length <= end && ngram < indices_.size();
           at += length, ++ngram) {
        if (wanted) {
          add(pool + at, length, indices_[ngram]);
        }
      }
    }
  }

  /// The node behind `node` by `element`, or -1; the root is 0.
  int64_t next(int64_t node, int64_t element) const {
    return edges_.get(node, static_cast<uint64_t>(element));
  }
  /// Returns where the n-gram that ends at `node` is counted; -1 when none does.
  int64_t index(int64_t node) const { return indexOf_[static_cast<size_t>(node)]; }

 private:
  void add(const int64_t* elements, int64_t length, int64_t index) {
    int64_t node = 0;
    for (int64_t i = 0; i < length; ++i) {
      int64_t child = next(node, elements[i]);
      if (child < 0) {
        child = nodes_++;
        edges_.set(node, static_cast<uint64_t>(elements[i]), child);
      }
      node = child;
    }
    indexOf_[static_cast<size_t>(node)] = index;
  }

  FixedTable edges_;
  std::vector<int64_t> indexOf_;
  int64_t nodes_ = 1;
  int64_t poolSize_;
  std::vector<int64_t> starts_;
  std::vector<int64_t> indices_;
  int64_t shortest_, longest_;
};

/// Counts the n-grams of one row of `columns` elements, at least `shortest` long, whose elements
/// are `distance` apart.
void countRow(const NgramTree& tree, const int64_t* row, int64_t columns, int64_t shortest,
              int64_t longest, int64_t distance, float* counts) {
  for (int64_t start = 0; start < columns; ++start) {
    int64_t node = 0;
    int64_t length = 1;
    for (int64_t i = start; i < columns && length <= longest; i += distance, ++length) {
      node = tree.next(node, row[i]);
      if (node < 0) {
        break;
      }
      if (length >= shortest && tree.index(node) >= 0) {
        counts[tree.index(node)] += 1;
      }
    }
  }
}

absl::Status checkPool(const Instruction& instruction, const std::vector<int64_t>& starts,
                       const std::vector<int64_t>& indices, int64_t poolSize, int64_t size) {
  int64_t before = 0;
  for (int64_t start : starts) {
    if (start < before || start > poolSize) {
      return invalidInstruction(
          instruction, "the n-grams of a length start outside of the pool, or do not ascend");
    }
    before = start;
  }
  bool inside = std::all_of(indices.begin(), indices.end(),
                            [&](int64_t index) { return index >= 0 && index < size; });
  return inside ? absl::OkStatus()
                : invalidInstruction(instruction, "an n-gram is counted outside of the result");
}

KernelOr createNgramCount(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(auto starts, attribute<std::vector<int64_t>>(instruction, "starts"));
  GR_ASSIGN_OR_RETURN(auto indices, attribute<std::vector<int64_t>>(instruction, "places"));
  GR_ASSIGN_OR_RETURN(int64_t shortest, attribute<int64_t>(instruction, "shortest"));
  GR_ASSIGN_OR_RETURN(int64_t longest, attribute<int64_t>(instruction, "longest"));
  GR_ASSIGN_OR_RETURN(int64_t skips, attribute<int64_t>(instruction, "skips"));
  const Dims& dims = instruction.inputs[0].desc.dims;
  const Dims& result = instruction.outputs[0].desc.dims;
  bool fits = instruction.inputs[0].desc.type == ElementType::kI64 &&
              instruction.inputs[1].desc.type == ElementType::kI64 &&
              instruction.outputs[0].desc.type == ElementType::kF32 && !dims.empty() &&
              dims.size() <= 2 && result.size() == dims.size() &&
              (dims.size() == 1 || result[0] == dims[0]) &&
              instruction.inputs[1].desc.dims.size() == 1;
  if (!fits || shortest < 1 || longest < shortest || skips < 0) {
    return invalidInstruction(instruction, "has operands or lengths that do not fit each other");
  }
  int64_t poolSize = instruction.inputs[1].desc.dims[0];
  int64_t size = result.back();
  GR_RETURN_IF_ERROR(checkPool(instruction, starts, indices, poolSize, size));
  int64_t columns = dims.back();
  int64_t rows = dims.size() == 2 ? dims[0] : 1;
  skips = std::min(skips, std::max<int64_t>(columns, 1));
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t pool = instruction.inputs[1].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return makeKernel([=, tree = NgramTree(poolSize, starts, indices, shortest, longest),
                     built = BuiltFrom<int64_t>(poolSize)](void* const* buffers) mutable {
    const auto* elements = static_cast<const int64_t*>(buffers[pool]);
    if (built.changes(elements)) {
      tree.build(elements);
    }
    const auto* x = static_cast<const int64_t*>(buffers[in]);
    auto* y = static_cast<float*>(buffers[out]);
    std::fill(y, y + rows * size, 0.0F);
    const NgramTree& ngrams = tree;
    parallelFor(rows, columns * (skips + 1) * longest, [&](int64_t row) {
      int64_t least = shortest;  // 1-grams are counted at the first distance only
      for (int64_t distance = 1; distance <= skips + 1 && least <= longest; ++distance) {
        countRow(ngrams, x + row * columns, columns, least, longest, distance, y + row * size);
        least = std::max<int64_t>(least, 2);
      }
    });
    return 0;
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.lookup", TypeRule::kIndices, createLookup, 2},
    {"gr.ngram_count", TypeRule::kConvert, createNgramCount, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceLookup() { return kEntries; }

}  // namespace graphrun::devices::cpu
