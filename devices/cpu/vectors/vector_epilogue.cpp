#include "devices/cpu/vectors/vector_epilogue.h"

namespace graphrun::devices::cpu {

absl::StatusOr<std::vector<VectorPostOp>> vectorPostOps(const Instruction& instruction) {
  std::vector<VectorPostOp> ops;
  const Argument& result = instruction.outputs[0];
  for (const PostOp& op : instruction.postOps) {
    if (op.kind == PostOpKind::kEltwise) {
      std::optional<PostOpCall> call = postOpCall(op);
      if (!call) {
        return absl::UnimplementedError(
            absl::StrCat("there are no vectors of ", op.algorithm, " behind a result"));
      }
      ops.push_back({call});
    } else if (op.kind == PostOpKind::kSum) {
      ops.push_back({std::nullopt, result.buffer});
    } else if (op.kind == PostOpKind::kBinaryAdd && op.operand &&
               op.operand->desc.type == result.desc.type &&
               op.operand->desc.dims == result.desc.dims) {
      ops.push_back({std::nullopt, op.operand->buffer});
    } else {
      return absl::UnimplementedError(
          "behind a result only tensors of its dims are added, vector by vector");
    }
  }
  return ops;
}

}  // namespace graphrun::devices::cpu
