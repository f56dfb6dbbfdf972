#include "devices/cpu/onednn/after_ops.h"

#include <algorithm>
#include <array>

#include "devices/cpu/threading/parallel.h"
#include "devices/cpu/vectors/bfloat16_rows.h"

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

bool isArithmetic(PostOpKind kind) {
  return kind == PostOpKind::kBinaryAdd || kind == PostOpKind::kBinaryMul ||
         kind == PostOpKind::kBinarySub || kind == PostOpKind::kBinaryDiv;
}

}  // namespace

size_t AfterOps::firstOf(const Instruction& instruction) {
  auto found = std::find_if(instruction.postOps.begin(), instruction.postOps.end(),
                            [](const PostOp& op) { return rowFunction(op).has_value(); });
  return static_cast<size_t>(found - instruction.postOps.begin());
}

absl::StatusOr<AfterOps> AfterOps::make(const Instruction& instruction, size_t first) {
  AfterOps made;
  const TensorDesc& result = instruction.outputs[0].desc;
  made.type_ = result.type;
  for (size_t i = first; i < instruction.postOps.size(); ++i) {
    const PostOp& op = instruction.postOps[i];
    std::optional<PostOpCall> call =
        op.kind == PostOpKind::kEltwise ? postOpCall(op, result.type) : std::nullopt;
    bool combines = isArithmetic(op.kind) && op.operand && op.operand->desc.dims == result.dims &&
                    op.operand->desc.type == result.type;
    if (!call && !combines) {
      return absl::UnimplementedError(
          absl::StrCat(instruction.operation,
                       ": only functions and arithmetic with whole tensors are done behind it"));
    }
    made.ops_.push_back({call, combinationOf(op.kind), call ? 0 : op.operand->buffer});
  }
  return made;
}

bool AfterOps::keepsZero() const {
  return std::all_of(ops_.begin(), ops_.end(), [](const Op& op) {
    float zero = 0;
    const float none = 0;
    op.call ? applyCall(*op.call, &zero, 1) : op.combination(&zero, 1, &none, true);
    return zero == 0;
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
      if (op.call) {
        applyCall(*op.call, row, count);
      } else {
        auto* other = static_cast<Element*>(buffers[op.operand]) + i;
        op.combination(row, count, Rows::open(other, count, others), false);
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
