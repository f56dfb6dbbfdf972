#include "devices/cpu/vector_epilogue.h"

#include <limits>

namespace graphrun::devices::cpu {
namespace {

absl::StatusOr<VectorPostOp> eltwise(const PostOp& op) {
  using Kind = VectorPostOp::Kind;
  if (op.algorithm == "gr.relu") {
    return VectorPostOp{Kind::kClip, 0, std::numeric_limits<float>::infinity()};
  }
  constexpr std::pair<absl::string_view, Kind> kKinds[] = {
      {"gr.clip", Kind::kClip},       {"gr.leaky_relu", Kind::kLeakyRelu},
      {"linear", Kind::kLinear},      {"gr.hard_swish", Kind::kHardSwish},
      {"gr.sigmoid", Kind::kSigmoid}, {"gr.swish", Kind::kSwish},
  };
  for (const auto& [name, kind] : kKinds) {
    if (name == op.algorithm) {
      return VectorPostOp{kind, op.alpha, op.beta};
    }
  }
  return absl::UnimplementedError(absl::StrCat("no vectors of ", op.algorithm, " behind a result"));
}

}  // namespace

absl::StatusOr<std::vector<VectorPostOp>> vectorPostOps(const Step& step) {
  std::vector<VectorPostOp> ops;
  const Argument& result = step.outputs[0];
  for (const PostOp& op : step.postOps) {
    if (op.kind == PostOpKind::kEltwise) {
      GR_ASSIGN_OR_RETURN(VectorPostOp made, eltwise(op));
      ops.push_back(made);
    } else if (op.kind == PostOpKind::kSum) {
      ops.push_back({VectorPostOp::Kind::kAdd, 0, 0, result.buffer});
    } else if (op.kind == PostOpKind::kBinaryAdd && op.operand &&
               op.operand->desc.type == result.desc.type &&
               op.operand->desc.dims == result.desc.dims) {
      ops.push_back({VectorPostOp::Kind::kAdd, 0, 0, op.operand->buffer});
    } else {
      return absl::UnimplementedError(
          "behind a result only tensors of its dims are added, vector by vector");
    }
  }
  return ops;
}

}  // namespace graphrun::devices::cpu
