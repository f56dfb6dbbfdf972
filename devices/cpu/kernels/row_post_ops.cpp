#include "devices/cpu/kernels/row_post_ops.h"

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("rows of results know no post-op ", what));
}

}  // namespace

absl::StatusOr<RowPostOps::Op> RowPostOps::opOf(const Instruction& instruction,
                                                const PostOp& post) {
  Op op;
  if (post.kind == PostOpKind::kEltwise) {
    op.call = postOpCall(post);
    return op.call ? absl::StatusOr<Op>(op) : declined(post.algorithm);
  }
  op.combination = combinationOf(post.kind);
  if (post.kind == PostOpKind::kSum) {
    return op;
  }
  const Dims& result = instruction.outputs[0].desc.dims;
  if (!post.operand || post.operand->desc.type != ElementType::kF32 ||
      (!post.operand->desc.any && !isDense(post.operand->desc))) {
    return declined("with an operand that is not dense, of f32");
  }
  Dims channels(result.size(), 1);
  channels[1] = result[1];
  const Dims& dims = post.operand->desc.dims;
  op.operand = post.operand->buffer;
  if (dims != result) {
    op.reach = countOf(dims) == 1 ? Reach::kOne : Reach::kChannel;
  }
  return op.reach == Reach::kChannel && dims != channels
             ? absl::StatusOr<Op>(declined("with such an operand"))
             : op;
}

absl::StatusOr<RowPostOps> RowPostOps::make(const Instruction& instruction) {
  RowPostOps made;
  for (const PostOp& post : instruction.postOps) {
    GR_ASSIGN_OR_RETURN(Op op, opOf(instruction, post));
    made.ops_.push_back(op);
  }
  return made;
}

std::vector<TensorDesc> RowPostOps::layouts(const Instruction& instruction) {
  std::vector<TensorDesc> descs;
  descs.reserve(instruction.postOps.size());
  for (const PostOp& post : instruction.postOps) {
    descs.push_back(post.operand ? TensorDesc{post.operand->desc.type, post.operand->desc.dims}
                                 : TensorDesc());
  }
  return descs;
}

bool RowPostOps::readsResult() const {
  return std::any_of(ops_.begin(), ops_.end(),
                     [](const Op& op) { return op.combination != nullptr && !op.operand; });
}

void RowPostOps::apply(void* const* buffers, const float* result, int64_t channel, int64_t offset,
                       int64_t count, float* row) const {
  for (const Op& op : ops_) {
    if (op.call) {
      applyCall(*op.call, row, count);
      continue;
    }
    const float* other = op.operand ? static_cast<const float*>(buffers[*op.operand]) : result;
    other += op.reach == Reach::kOne ? 0 : op.reach == Reach::kChannel ? channel : offset;
    op.combination(row, count, other, op.reach != Reach::kElement);
  }
}

}  // namespace graphrun::devices::cpu
