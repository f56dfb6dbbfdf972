#include "devices/cpu/after_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "devices/cpu/bfloat16_rows.h"
#include "devices/cpu/parallel.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int64_t kRow = 2048;  // elements that stay in a first-level cache
using Row = std::array<float, kRow>;

/// Rows of f32 are changed where they lie.
struct FloatRows {
  using Element = float;
  static float* open(float* data, int64_t, Row&) { return data; }
  static void close(const float*, float*, int64_t) {}
};
/// Rows of bf16 are widened and narrowed.
struct BFloat16Rows {
  using Element = BFloat16;
  static float* open(const BFloat16* data, int64_t count, Row& row) {
    widenRow(data, row.data(), count);
    return row.data();
  }
  static void close(const float* row, BFloat16* data, int64_t count) {
    narrowRow(row, data, count);
  }
};

template <typename F>
void combineBy(float* row, const float* other, int64_t count, const F& f) {
  runWide([=] {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      row[i] = f(row[i], other[i]);
    }
  });
}

void combine(PostOpKind kind, float* row, const float* other, int64_t count) {
  switch (kind) {
    case PostOpKind::kBinaryMul:
      return combineBy(row, other, count, std::multiplies<>());
    case PostOpKind::kBinarySub:
      return combineBy(row, other, count, std::minus<>());
    case PostOpKind::kBinaryDiv:
      return combineBy(row, other, count, std::divides<>());
    default:
      return combineBy(row, other, count, std::plus<>());
  }
}

bool isArithmetic(PostOpKind kind) {
  return kind == PostOpKind::kBinaryAdd || kind == PostOpKind::kBinaryMul ||
         kind == PostOpKind::kBinarySub || kind == PostOpKind::kBinaryDiv;
}

}  // namespace

size_t AfterOps::firstOf(const Step& step) {
  auto found = std::find_if(step.postOps.begin(), step.postOps.end(),
                            [](const PostOp& op) { return rowFunction(op).has_value(); });
  return static_cast<size_t>(found - step.postOps.begin());
}

absl::StatusOr<AfterOps> AfterOps::make(const Step& step, size_t first) {
  AfterOps made;
  const TensorDesc& result = step.outputs[0].desc;
  made.type_ = result.type;
  for (size_t i = first; i < step.postOps.size(); ++i) {
    const PostOp& op = step.postOps[i];
    std::optional<RowFunction> function = rowFunction(op);
    bool combines = isArithmetic(op.kind) && op.operand && op.operand->desc.dims == result.dims &&
                    op.operand->desc.type == result.type;
    if (!function && !combines) {
      return absl::UnimplementedError(
          absl::StrCat(step.operation, ": behind ", step.postOps[first].algorithm,
                       " only functions of the same kind and whole tensors are fused"));
    }
    made.ops_.push_back({function, op.kind, function ? 0 : op.operand->buffer});
  }
  return made;
}

bool AfterOps::keepsZero() const {
  return std::all_of(ops_.begin(), ops_.end(), [](const Op& op) {
    float zero = 0;
    if (op.function) {
      (*op.function)(&zero, &zero, 1);
    }
    return zero == 0 && op.kind != PostOpKind::kBinaryDiv;
  });
}

template <typename Rows>
void AfterOps::runRows(void* const* buffers, uint32_t result, int64_t begin, int64_t end) const {
  using Element = typename Rows::Element;
  Row own, others;
  auto* data = static_cast<Element*>(buffers[result]);
  for (int64_t i = begin; i < end; i += kRow) {
    int64_t count = std::min(kRow, end - i);
    for (const Op& op : ops_) {
      float* row = Rows::open(data + i, count, own);
      if (op.function) {
        (*op.function)(row, row, count);
      } else {
        auto* other = static_cast<Element*>(buffers[op.operand]) + i;
        combine(op.kind, row, Rows::open(other, count, others), count);
      }
      Rows::close(row, data + i, count);
    }
  }
}

void AfterOps::run(void* const* buffers, uint32_t result, int64_t count) const {
  parallelRanges(count, [&](int64_t begin, int64_t end) {
    type_ == runtime::ElementType::kBF16 ? runRows<BFloat16Rows>(buffers, result, begin, end)
                                         : runRows<FloatRows>(buffers, result, begin, end);
  });
}

}  // namespace graphrun::devices::cpu
