// These operations compare or run along an axis: selection, distinct slices, running sums.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"
namespace graphrun::devices::cpu {
namespace {

/// A total order in which NaN is larger than any number.
template <typename C>
bool isLess(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    return a < b || (b != b && a == a);
  } else {
    return a < b;
  }
}

constexpr const char* kTopKMessages[] = {"k at run time is another one than was planned"};

/// Elements that are compared with the worst one of the best at once.
constexpr int64_t kCompared = 64;
using Marks = std::array<uint32_t, kCompared>;

/// Marks with 1 which of kCompared elements may be beyond `limit` (all that are, and NaN). Without
/// comparisons, which compilers take apart: the sign of the difference tells, and that of how far
/// its magnitude is from infinity's.
template <bool kLargest>
void markBeyond(const float* x, float limit, Marks& marks) {
  using Bits [[gnu::vector_size(kVectorLanes * sizeof(uint32_t))]] = uint32_t;
  constexpr uint32_t kInfinity = 0x7F800000;
  runWide([&] {
    for (int64_t i = 0; i < kCompared; i += kVectorLanes) {
      Vector elements;
      loadVector(x + i, elements);
      Vector room = kLargest ? limit - elements : elements - limit;
      Bits bits = __builtin_bit_cast(Bits, room);
      bits = (bits | (kInfinity - (bits & ~(1U << 31)))) >> 31;
      std::memcpy(&marks[static_cast<size_t>(i)], &bits, sizeof(bits));
    }
  });
}

/// `body(i)` for all elements of a line from `first` on that may be better than the one that
/// `worst` points to: few where the best ones are few.
template <typename T, bool kLargest, typename Body>
void forCandidates(const T* x, int64_t dim, int64_t stride, int64_t first, const int64_t* worst,
                   const Body& body) {
  int64_t i = first;
  if constexpr (std::is_same_v<T, float>) {
    Marks marks;
    for (; stride == 1 && i + kCompared <= dim; i += kCompared) {
      markBeyond<kLargest>(x + i, x[*worst], marks);
      for (int64_t part = 0; part < kCompared; part += 2) {
        uint64_t both;
        std::memcpy(&both, &marks[static_cast<size_t>(part)], sizeof(both));
        for (; both != 0; both &= both - 1) {
          body(i + part + std::countr_zero(both) / 32);
        }
      }
    }
  }
  for (; i < dim; ++i) {
    body(i);
  }
}

/// Indices of the `k` best elements of a line, best first, by a heap whose root is the worst.
template <typename T, bool kLargest>
void selectBest(const T* x, int64_t dim, int64_t stride, int64_t k, int64_t* best) {
  auto better = [&](int64_t a, int64_t b) {
    Compute<T> u = load(x[a * stride]);
    Compute<T> v = load(x[b * stride]);
    if (kLargest ? isLess(v, u) : isLess(u, v)) {
      return true;
    }
    return !(kLargest ? isLess(u, v) : isLess(v, u)) && a < b;
  };
  std::iota(best, best + k, int64_t{0});
  std::make_heap(best, best + k, better);
  forCandidates<T, kLargest>(x, k == 0 ? 0 : dim, stride, k, best, [&](int64_t i) {
    if (better(i, best[0])) {
      std::pop_heap(best, best + k, better);
      best[k - 1] = i;
      std::push_heap(best, best + k, better);
    }
  });
  std::sort_heap(best, best + k, better);
}

template <typename T, bool kLargest>
KernelOr makeTopK(const Instruction& instruction, Lines lines, int64_t k, IntOperand wanted) {
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t values = instruction.outputs[0].buffer;
  uint32_t indices = instruction.outputs[1].buffer;
  // Where a line of the result is one piece the result itself is the heap.
  auto scratch = static_cast<size_t>(lines.inner == 1 ? 0 : lines.count() * k);
  return makeKernel(
      [=, heaps = std::vector<int64_t>(scratch)](void* const* buffers) mutable {
        if (wanted.at(buffers, 0) != k) {
          return 1;
        }
        auto* found = static_cast<int64_t*>(buffers[indices]);
        int64_t* best = lines.inner == 1 ? found : heaps.data();
        T* y = static_cast<T*>(buffers[values]);
        parallelFor(lines.count(), lines.dim, [&](int64_t line) {
          const T* x = static_cast<const T*>(buffers[in]) + lines.start(line);
          selectBest<T, kLargest>(x, lines.dim, lines.inner, k, best + line * k);
          int64_t to = line / lines.inner * k * lines.inner + line % lines.inner;
          for (int64_t i = 0; i < k; ++i) {
            int64_t at = best[line * k + i];
            found[to + i * lines.inner] = at;
            y[to + i * lines.inner] = x[at * lines.inner];
          }
        });
        return 0;
      },
      kTopKMessages);
}

KernelOr createTopK(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(instruction, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, in.size()));
  GR_ASSIGN_OR_RETURN(bool largest, attributeOr(instruction, "largest", true));
  GR_ASSIGN_OR_RETURN(IntOperand wanted, IntOperand::make(instruction, 1));
  const Dims& out = instruction.outputs[0].desc.dims;
  auto at = static_cast<size_t>(axis);
  Dims expected = in;
  expected[at] = out.size() == in.size() ? out[at] : -1;
  if (out != expected || instruction.outputs[1].desc.dims != out || out[at] > in[at] ||
      wanted.count != 1) {
    return invalidInstruction(instruction, "the shapes of input, k and results do not fit");
  }
  Lines lines(in, axis);
  return dispatchElement(instruction.inputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return largest ? makeTopK<T, true>(instruction, lines, out[at], wanted)
                   : makeTopK<T, false>(instruction, lines, out[at], wanted);
  });
}

/// Lines that are walked side by side.
constexpr int64_t kArgLines = 256;

/// An ArgRule says which of a line's elements is wanted; kLast: the last of equal ones.
template <bool kLargest, bool kLast>
struct ArgRule {
  static constexpr bool kIsLast = kLast;
  template <typename C>
  static bool isOver(C next, C before) {
    return kLargest ? next > before : next < before;
  }
  /// Is `next` to replace `before`, which comes before it? Without branches, for vectors.
  template <typename C>
  static bool replaces(C next, C before) {
    bool isNan = next != next;
    return kLast ? isOver(next, before) | (next == before) | isNan
                 : isOver(next, before) | (isNan & (before == before));
  }
};

/// The best elements of lines side by side. A NaN is better than any number.
template <typename T, typename Rule>
struct ArgLines {
  using C = Compute<T>;
  std::array<C, kArgLines> best;
  std::array<int32_t, kArgLines> at;

  /// `width` lines of `dim` elements that are `stride` apart.
  void walk(const T* x, int64_t dim, int64_t stride, int64_t width) {
    for (int64_t j = 0; j < width; ++j) {
      best[static_cast<size_t>(j)] = load(x[j]);
      at[static_cast<size_t>(j)] = 0;
    }
    for (int64_t i = 1; i < dim; ++i) {
      const T* row = x + i * stride;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) {
        C before = best[static_cast<size_t>(j)];
        C next = load(row[j]);
        bool isNext = Rule::replaces(next, before);
        best[static_cast<size_t>(j)] = isNext ? next : before;
        at[static_cast<size_t>(j)] = isNext ? static_cast<int32_t>(i) : at[static_cast<size_t>(j)];
      }
    }
  }
};

/// The index of the best element of one line: of its elements i, i + kStep, i + 2 kStep … first.
template <typename T, typename Rule>
int64_t argReduceLine(const T* x, int64_t dim) {
  using C = Compute<T>;
  constexpr int64_t kStep = 64;
  C best = load(x[0]);
  int64_t at = 0;
  auto consider = [&](C next, int64_t i) {
    bool same = next == best || (next != next && best != best);
    if (same ? (Rule::kIsLast ? i > at : i < at) : Rule::isOver(next, best) || next != next) {
      best = next;
      at = i;
    }
  };
  int64_t rows = dim / kStep;
  if (rows > 0) {
    ArgLines<T, Rule> lines;
    lines.walk(x, rows, kStep, kStep);
    for (int64_t j = 0; j < kStep; ++j) {
      auto lane = static_cast<size_t>(j);
      consider(lines.best[lane], lines.at[lane] * kStep + j);
    }
  }
  for (int64_t i = rows * kStep; i < dim; ++i) {
    consider(load(x[i]), i);
  }
  return at;
}

/// The best elements of `width` lines side by side, of `dim` elements that are `stride` apart.
template <typename T, typename Rule>
void argReduceLines(const T* x, int64_t dim, int64_t stride, int64_t width, int64_t* indices) {
  if (stride == 1) {
    *indices = argReduceLine<T, Rule>(x, dim);
    return;
  }
  ArgLines<T, Rule> lines;
  lines.walk(x, dim, stride, width);
  std::copy_n(lines.at.begin(), width, indices);
}

template <typename T, typename Rule>
KernelOr makeArgReduce(uint32_t from, uint32_t to, Lines lines) {
  return makeKernel([=](void* const* buffers) {
    const T* x = static_cast<const T*>(buffers[from]);
    auto* indices = static_cast<int64_t*>(buffers[to]);
    // Lines side by side are walked together, row after row.
    int64_t width = std::min(lines.inner, kArgLines);
    int64_t blocks = (lines.inner + width - 1) / width;
    parallelFor(lines.outer * blocks, width * lines.dim, [&](int64_t unit) {
      int64_t outer = unit / blocks;
      int64_t first = unit % blocks * width;
      runWide([&] {
        argReduceLines<T, Rule>(x + outer * lines.dim * lines.inner + first, lines.dim, lines.inner,
                                std::min(width, lines.inner - first),
                                indices + outer * lines.inner + first);
      });
    });
    return 0;
  });
}

KernelOr createArgReduce(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(instruction, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, in.size()));
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
  GR_ASSIGN_OR_RETURN(bool last, attributeOr(instruction, "last", false));
  Lines lines(in, axis);
  if (lines.dim == 0 || countOf(instruction.outputs[0].desc.dims) != lines.count() ||
      (kind != "max" && kind != "min")) {
    return invalidInstruction(instruction, "kind and shapes do not fit");
  }
  if (lines.dim > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError("gr.arg_reduce: lines have fewer than 2^31 elements");
  }
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  return dispatchElement(instruction.inputs[0].desc.type, [&]<typename T>() -> KernelOr {
    auto make = [&]<typename Rule>(Rule) { return makeArgReduce<T, Rule>(from, to, lines); };
    if (kind == "max") {
      return last ? make(ArgRule<true, true>()) : make(ArgRule<true, false>());
    }
    return last ? make(ArgRule<false, true>()) : make(ArgRule<false, false>());
  });
}

/// Compares slices of a tensor along an axis, element by element.
template <typename T>
struct SliceOrder {
  const T* x;
  Lines lines;

  /// Negative, 0 or positive.
  int compare(int64_t a, int64_t b) const {
    for (int64_t outer = 0; outer < lines.outer; ++outer) {
      for (int64_t i = 0; i < lines.inner; ++i) {
        Compute<T> u = load(x[(outer * lines.dim + a) * lines.inner + i]);
        Compute<T> v = load(x[(outer * lines.dim + b) * lines.inner + i]);
        if (isLess(u, v) || isLess(v, u)) {
          return isLess(u, v) ? -1 : 1;
        }
      }
    }
    return 0;
  }
};

/// Scratch of gr.unique: slices in order, and for each group of equal ones its first slice and its
/// position in the result.
struct UniqueScratch {
  Dims order, firsts, groups, positions;
};

/// Fills `scratch` and, for each slice, the number of its group; gives the number of groups.
template <typename T>
int64_t findGroups(const SliceOrder<T>& slices, bool sorted, UniqueScratch& scratch,
                   int64_t* group) {
  int64_t dim = slices.lines.dim;
  Dims& order = scratch.order;
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    int comparison = slices.compare(a, b);
    return comparison < 0 || (comparison == 0 && a < b);
  });
  int64_t count = 0;
  for (int64_t i = 0; i < dim; ++i) {
    auto at = static_cast<size_t>(i);
    if (i == 0 || slices.compare(order[at - 1], order[at]) != 0) {
      scratch.firsts[static_cast<size_t>(count++)] = order[at];
    }
    group[order[at]] = count - 1;
  }
  std::iota(scratch.groups.begin(), scratch.groups.begin() + count, int64_t{0});
  if (!sorted) {
    std::sort(scratch.groups.begin(), scratch.groups.begin() + count, [&](int64_t a, int64_t b) {
      return scratch.firsts[static_cast<size_t>(a)] < scratch.firsts[static_cast<size_t>(b)];
    });
  }
  for (int64_t i = 0; i < count; ++i) {
    scratch.positions[static_cast<size_t>(scratch.groups[static_cast<size_t>(i)])] = i;
  }
  return count;
}

template <typename T>
KernelOr makeUnique(const Instruction& instruction, Lines lines, bool sorted) {
  uint32_t in = instruction.inputs[0].buffer;
  std::vector<uint32_t> out;
  out.reserve(instruction.outputs.size());
  for (const Argument& output : instruction.outputs) {
    out.push_back(output.buffer);
  }
  Dims one(static_cast<size_t>(lines.dim));
  return makeKernel([=, scratch = UniqueScratch{one, one, one, one}](void* const* buffers) mutable {
    const T* x = static_cast<const T*>(buffers[in]);
    T* values = static_cast<T*>(buffers[out[0]]);
    auto* firsts = static_cast<int64_t*>(buffers[out[1]]);
    auto* inverse = static_cast<int64_t*>(buffers[out[2]]);
    auto* occurrences = static_cast<int64_t*>(buffers[out[3]]);
    std::memset(values, 0, static_cast<size_t>(lines.count() * lines.dim) * sizeof(T));
    std::fill(firsts, firsts + lines.dim, 0);
    std::fill(occurrences, occurrences + lines.dim, 0);
    int64_t count = findGroups(SliceOrder<T>{x, lines}, sorted, scratch, inverse);
    for (int64_t i = 0; i < lines.dim; ++i) {
      inverse[i] = scratch.positions[static_cast<size_t>(inverse[i])];
      ++occurrences[inverse[i]];
    }
    for (int64_t i = 0; i < count; ++i) {
      auto group = static_cast<size_t>(scratch.groups[static_cast<size_t>(i)]);
      firsts[i] = scratch.firsts[group];
      for (int64_t outer = 0; outer < lines.outer; ++outer) {
        std::copy_n(x + (outer * lines.dim + firsts[i]) * lines.inner, lines.inner,
                    values + (outer * lines.dim + i) * lines.inner);
      }
    }
    *static_cast<int64_t*>(buffers[out[4]]) = count;
    return 0;
  });
}

KernelOr createUnique(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attribute<int64_t>(instruction, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, in.size()));
  GR_ASSIGN_OR_RETURN(bool sorted, attributeOr(instruction, "sorted", true));
  Lines lines(in, axis);
  bool fits =
      instruction.outputs[0].desc.dims == in && countOf(instruction.outputs[4].desc.dims) == 1;
  for (size_t i = 1; i < 4; ++i) {
    fits = fits && countOf(instruction.outputs[i].desc.dims) == lines.dim;
  }
  if (!fits) {
    return invalidInstruction(instruction, "the shapes of input and results do not fit");
  }
  return dispatchElement(instruction.inputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeUnique<T>(instruction, lines, sorted);
  });
}

constexpr const char* kAxisMessages[] = {"the axis is out of range"};

/// One line of a running sum or product.
template <typename T, bool kProduct>
void accumulate(const T* x, T* y, const Lines& lines, bool exclusive, bool reverse) {
  // Integers wrap around.
  using A = std::conditional_t<std::is_floating_point_v<Compute<T>>, double, uint64_t>;
  A total = kProduct ? A{1} : A{0};
  for (int64_t i = 0; i < lines.dim; ++i) {
    int64_t at = (reverse ? lines.dim - 1 - i : i) * lines.inner;
    // By way of the signed type: a negative number keeps its bits above.
    using Wide = std::conditional_t<std::is_floating_point_v<A>, double, int64_t>;
    auto next = static_cast<A>(static_cast<Wide>(load(x[at])));
    A with = kProduct ? total * next : total + next;
    y[at] = store<T>(static_cast<Compute<T>>(exclusive ? total : with));
    total = with;
  }
}

template <typename T, bool kProduct>
KernelOr makeCumulative(const Instruction& instruction, IntOperand axis, bool exclusive,
                        bool reverse) {
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return makeKernel(
      [=, dims = instruction.inputs[0].desc.dims](void* const* buffers) {
        auto rank = static_cast<int64_t>(dims.size());
        int64_t at = axis.at(buffers, 0);
        at += at < 0 ? rank : 0;
        if (at < 0 || at >= rank) {
          return 1;
        }
        Lines lines(dims, at);
        parallelFor(lines.count(), lines.dim, [&](int64_t line) {
          accumulate<T, kProduct>(static_cast<const T*>(buffers[in]) + lines.start(line),
                                  static_cast<T*>(buffers[out]) + lines.start(line), lines,
                                  exclusive, reverse);
        });
        return 0;
      },
      kAxisMessages);
}

KernelOr createCumulative(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
  GR_ASSIGN_OR_RETURN(bool exclusive, attributeOr(instruction, "exclusive", false));
  GR_ASSIGN_OR_RETURN(bool reverse, attributeOr(instruction, "reverse", false));
  GR_ASSIGN_OR_RETURN(IntOperand axis, IntOperand::make(instruction, 1));
  if (instruction.outputs[0].desc.dims != instruction.inputs[0].desc.dims || axis.count != 1 ||
      (kind != "sum" && kind != "prod")) {
    return invalidInstruction(instruction, "kind and shapes do not fit");
  }
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return kind == "prod" ? makeCumulative<T, true>(instruction, axis, exclusive, reverse)
                          : makeCumulative<T, false>(instruction, axis, exclusive, reverse);
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.top_k", TypeRule::kMoveIndices, createTopK, 2, 2, 2},
    {"gr.arg_reduce", TypeRule::kIndices, createArgReduce},
    {"gr.unique", TypeRule::kMoveIndices, createUnique, 1, 1, 5},
    {"gr.cumulative", TypeRule::kAccumulate, createCumulative, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceOrder() { return kEntries; }

}  // namespace graphrun::devices::cpu
