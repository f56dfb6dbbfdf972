// Reductions, matrix products and determinants.
#include <algorithm>
#include <array>
#include <type_traits>

#include "devices/cpu/reference/reference_support.h"
#include "devices/functions/reductions.h"

namespace graphrun::devices::cpu {
namespace {

/// Two nests of loops: over the result, and for each of its elements over what is reduced.
struct ReducePlan {
  Dims kept, keptStrides;
  Dims reduced, reducedStrides;

  static int64_t offset(int64_t index, const Dims& dims, const Dims& strides) {
    int64_t at = 0;
    for (size_t d = dims.size(); d > 0; --d) {
      at += index % dims[d - 1] * strides[d - 1];
      index /= dims[d - 1];
    }
    return at;
  }
};

absl::StatusOr<ReducePlan> planReduce(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims axes, attribute<Dims>(instruction, "axes"));
  GR_ASSIGN_OR_RETURN(bool keepdims, attributeOr(instruction, "keepdims", true));
  Dims strides = denseStrides(in);
  Dims expected;
  ReducePlan plan;
  size_t found = 0;
  for (size_t d = 0; d < in.size(); ++d) {
    bool reduces = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    found += reduces ? 1 : 0;
    (reduces ? plan.reduced : plan.kept).push_back(in[d]);
    (reduces ? plan.reducedStrides : plan.keptStrides).push_back(strides[d]);
    if (!reduces || keepdims) {
      expected.push_back(reduces ? 1 : in[d]);
    }
  }
  if (found != axes.size() || expected != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "axes and shapes do not fit");
  }
  std::vector<Dims> kept = {plan.keptStrides};
  std::vector<Dims> reduced = {plan.reducedStrides};
  if (countOf(in) > 0) {
    mergeDims(plan.kept, kept);
    mergeDims(plan.reduced, reduced);
    plan.keptStrides = kept[0];
    plan.reducedStrides = reduced[0];
  }
  return plan;
}

/// Folds the elements of one result: `start`, then `combine` for each.
template <typename T, typename Accumulator, typename Combine>
Accumulator fold(const T* in, const ReducePlan& plan, Accumulator start, Combine combine) {
  int64_t inner = plan.reduced.empty() ? 1 : plan.reduced.back();
  int64_t stride = plan.reduced.empty() ? 0 : plan.reducedStrides.back();
  int64_t rows = inner == 0 ? 0 : countOf(plan.reduced) / inner;
  for (int64_t row = 0; row < rows; ++row) {
    const T* at = in + ReducePlan::offset(row * inner, plan.reduced, plan.reducedStrides);
    for (int64_t i = 0; i < inner; ++i) {
      start = combine(start, load(at[i * stride]));
    }
  }
  return start;
}

/// Combines as `Combine` does (functions/reductions.h), and divides by the number of elements then.
template <typename Combine, bool kDivides>
struct Reduction {
  template <typename T>
  static Compute<T> apply(const T* in, const ReducePlan& plan) {
    using C = std::conditional_t<Combine::kGrows, Sum<T>, Compute<T>>;
    C all = fold(in, plan, Combine::template start<C>(),
                 [](C a, Compute<T> x) { return Combine::apply(a, static_cast<C>(x)); });
    if constexpr (kDivides) {
      auto count = static_cast<C>(countOf(plan.reduced));
      all = std::is_integral_v<C> && count == 0 ? C{0} : static_cast<C>(all / count);
    }
    return static_cast<Compute<T>>(all);
  }
};

template <typename F>
KernelOr makeReduce(const Instruction& instruction, ReducePlan plan) {
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  int64_t work = countOf(plan.reduced);
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, plan = std::move(plan)](void* const* buffers) {
      parallelFor(count, work, [&](int64_t i) {
        const T* from =
            static_cast<const T*>(buffers[in]) + ReducePlan::offset(i, plan.kept, plan.keptStrides);
        static_cast<T*>(buffers[out])[i] = store<T>(F::template apply<T>(from, plan));
      });
      return 0;
    });
  });
}

#define GR_DIVIDES_Keep false
#define GR_DIVIDES_Divide true

KernelOr createReduce(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(ReducePlan plan, planReduce(instruction));
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
#define GR_REDUCTION(Kind, name, rule, flops, nothing, onnx, axesInput, Combine, end) \
  if (kind == #name) {                                                                \
    return makeReduce<Reduction<functions::reductions::Combine, GR_DIVIDES_##end>>(   \
        instruction, std::move(plan));                                                \
  }
#include "devices/functions/reductions.def"
#define GR_REDUCTION(Kind, name, rule, flops, nothing, onnx, axesInput, Combine, end) " " #name
  constexpr absl::string_view kKinds =
#include "devices/functions/reductions.def"
      ;
  return invalidInstruction(instruction,
                            absl::StrCat("kind is \"", kind, "\", expected one of", kKinds));
}

/// A batch of products: dims M x K x N, strides of both operands, offsets of each batch's matrices.
struct ProductPlan {
  int64_t m, k, n;
  int64_t lhsRow, lhsColumn, rhsRow, rhsColumn;
  Dims lhsOffsets, rhsOffsets;
};

/// One operand's last two dims and their strides, after 1-D operands got a dim and op() was
/// applied.
struct MatrixView {
  Dims batch;
  int64_t rows, columns, rowStride, columnStride;
};

MatrixView viewOf(Dims dims, bool transpose, bool left) {
  bool vector = dims.size() == 1;
  if (vector) {
    dims.insert(left ? dims.begin() : dims.end(), 1);
  }
  size_t r = dims.size();
  MatrixView view{Dims(dims.begin(), dims.end() - 2), dims[r - 2], dims[r - 1], dims[r - 1], 1};
  if (transpose && !vector) {
    std::swap(view.rows, view.columns);
    std::swap(view.rowStride, view.columnStride);
  }
  return view;
}

/// Offset of each batch's matrix of `size` elements, of `view` broadcast to `batch`.
absl::StatusOr<Dims> batchOffsets(const Instruction& instruction, const MatrixView& view,
                                  const Dims& batch) {
  GR_ASSIGN_OR_RETURN(Dims strides, broadcastStrides(instruction, view.batch, batch));
  Dims offsets(static_cast<size_t>(countOf(batch)));
  for (size_t b = 0; b < offsets.size(); ++b) {
    offsets[b] =
        ReducePlan::offset(static_cast<int64_t>(b), batch, strides) * view.rows * view.columns;
  }
  return offsets;
}

absl::StatusOr<ProductPlan> planProduct(const Instruction& instruction) {
  const Dims& lhs = instruction.inputs[0].desc.dims;
  const Dims& rhs = instruction.inputs[1].desc.dims;
  if (lhs.empty() || rhs.empty()) {
    return invalidInstruction(instruction, "a scalar is no matrix");
  }
  GR_ASSIGN_OR_RETURN(bool transposeLhs, attributeOr(instruction, "transpose_lhs", false));
  GR_ASSIGN_OR_RETURN(bool transposeRhs, attributeOr(instruction, "transpose_rhs", false));
  MatrixView a = viewOf(lhs, transposeLhs, true);
  MatrixView b = viewOf(rhs, transposeRhs, false);
  Dims batch(std::max(a.batch.size(), b.batch.size()), 1);
  for (const Dims* dims : {&a.batch, &b.batch}) {
    size_t shift = batch.size() - dims->size();
    for (size_t d = 0; d < dims->size(); ++d) {
      batch[shift + d] = (*dims)[d] == 1 ? batch[shift + d] : (*dims)[d];
    }
  }
  Dims expected = batch;
  if (lhs.size() > 1) {
    expected.push_back(a.rows);
  }
  if (rhs.size() > 1) {
    expected.push_back(b.columns);
  }
  if (a.columns != b.rows || expected != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "the shapes of the operands and the result do not fit");
  }
  constexpr int64_t kMostBatches = 1 << 24;
  if (countOf(batch) > kMostBatches) {
    return invalidInstruction(instruction, "the operands have more than 2^24 matrices");
  }
  ProductPlan plan{a.rows,      a.columns,      b.columns, a.rowStride, a.columnStride,
                   b.rowStride, b.columnStride, {},        {}};
  GR_ASSIGN_OR_RETURN(plan.lhsOffsets, batchOffsets(instruction, a, batch));
  GR_ASSIGN_OR_RETURN(plan.rhsOffsets, batchOffsets(instruction, b, batch));
  return plan;
}

/// A product of elements of type T is summed in this type: integers wrap, and narrow ones need no
/// more.
template <typename T>
using ProductSum = std::conditional_t<
    std::is_floating_point_v<Compute<T>>, double,
    std::conditional_t<sizeof(Compute<T>) <= sizeof(uint32_t), uint32_t, uint64_t>>;

/// Columns of a product that are computed together.
constexpr int64_t kColumns = 128;

/// `count` neighbouring elements of a product, each summed in the order of k.
template <typename Sum, typename Lhs, typename Rhs>
void multiplyRow(const ProductPlan& plan, const Lhs* row, const Rhs* columns, int64_t count,
                 std::array<Sum, kColumns>& sums) {
  sums.fill(0);
  for (int64_t i = 0; i < plan.k; ++i) {
    auto x = static_cast<Sum>(+load(row[i * plan.lhsColumn]));  // + keeps the sign of bytes
    const Rhs* y = columns + i * plan.rhsRow;
    if (plan.rhsColumn == 1) {
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) {
        sums[static_cast<size_t>(j)] += x * static_cast<Sum>(load(y[j]));
      }
      continue;
    }
    for (int64_t j = 0; j < count; ++j) {
      sums[static_cast<size_t>(j)] += x * static_cast<Sum>(load(y[j * plan.rhsColumn]));
    }
  }
}

/// The optional third operand is a bias that broadcasts to the result (1-D, of the columns).
absl::Status checkMatMulBias(const Instruction& instruction, int64_t columns) {
  if (instruction.inputs.size() == 3 && instruction.inputs[2].desc.dims != Dims{columns}) {
    return invalidInstruction(instruction, "the bias does not have one value a column");
  }
  return absl::OkStatus();
}

/// Lhs and Rhs are the operands' elements, T those of the result and the bias.
template <typename T, typename Lhs = T, typename Rhs = T>
KernelOr makeMatMul(const Instruction& instruction, ProductPlan plan) {
  bool hasBias = instruction.inputs.size() == 3;
  uint32_t lhs = instruction.inputs[0].buffer;
  uint32_t rhs = instruction.inputs[1].buffer;
  uint32_t bias = hasBias ? instruction.inputs[2].buffer : 0;
  uint32_t out = instruction.outputs[0].buffer;
  return makeKernel([=, plan = std::move(plan)](void* const* buffers) {
    auto rows = static_cast<int64_t>(plan.lhsOffsets.size()) * plan.m;
    parallelFor(rows, plan.k * plan.n, [&](int64_t r) {
      auto batch = static_cast<size_t>(r / plan.m);
      const Lhs* a =
          static_cast<const Lhs*>(buffers[lhs]) + plan.lhsOffsets[batch] + r % plan.m * plan.lhsRow;
      const Rhs* b = static_cast<const Rhs*>(buffers[rhs]) + plan.rhsOffsets[batch];
      T* to = static_cast<T*>(buffers[out]) + r * plan.n;
      std::array<ProductSum<T>, kColumns> sums;
      for (int64_t j = 0; j < plan.n; ++j) {
        if (j % kColumns == 0) {
          multiplyRow(plan, a, b + j * plan.rhsColumn, std::min(kColumns, plan.n - j), sums);
        }
        auto x = static_cast<Compute<T>>(sums[static_cast<size_t>(j % kColumns)]);
        if (hasBias) {
          x = static_cast<Compute<T>>(x + load(static_cast<const T*>(buffers[bias])[j]));
        }
        to[j] = store<T>(x);
      }
    });
    return 0;
  });
}

KernelOr createMatMul(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(ProductPlan plan, planProduct(instruction));
  GR_RETURN_IF_ERROR(checkMatMulBias(instruction, plan.n));
  if (instruction.inputs[0].desc.type != instruction.outputs[0].desc.type) {
    return makeMatMul<int32_t, uint8_t, int8_t>(instruction, std::move(plan));
  }
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeMatMul<T>(instruction, std::move(plan));
  });
}

/// By elimination with the largest pivot of each column; `a` is n x n and is overwritten.
double determinant(double* a, int64_t n) {
  double result = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      pivot = std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c]) ? r : pivot;
    }
    if (a[pivot * n + c] == 0) {
      return 0;
    }
    if (pivot != c) {
      std::swap_ranges(a + c * n, a + (c + 1) * n, a + pivot * n);
      result = -result;
    }
    result *= a[c * n + c];
    for (int64_t r = c + 1; r < n; ++r) {
      double factor = a[r * n + c] / a[c * n + c];
      for (int64_t i = c + 1; i < n; ++i) {
        a[r * n + i] -= factor * a[c * n + i];
      }
    }
  }
  return result;
}

KernelOr createDet(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  size_t rank = in.size();
  if (rank < 2 || in[rank - 1] != in[rank - 2] ||
      instruction.outputs[0].desc.dims != Dims(in.begin(), in.end() - 2)) {
    return invalidInstruction(instruction, "the last two dims are not those of a square matrix");
  }
  int64_t n = in.back();
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    auto size = static_cast<size_t>(n * n);
    return makeKernel([=, matrix = std::vector<double>(size)](void* const* buffers) mutable {
      for (int64_t i = 0; i < count; ++i) {
        const T* x = static_cast<const T*>(buffers[from]) + i * n * n;
        std::transform(x, x + n * n, matrix.begin(), [](T value) { return double{load(value)}; });
        static_cast<T*>(buffers[to])[i] =
            store<T>(static_cast<Compute<T>>(determinant(matrix.data(), n)));
      }
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.reduce", TypeRule::kAny, createReduce},
    {"gr.matmul", TypeRule::kMatMul, createMatMul, 2, 3},
    {"gr.det", TypeRule::kFloat, createDet},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceMath() { return kEntries; }

}  // namespace graphrun::devices::cpu
