// Post-operations: what oneDNN's primitives apply themselves, and what comes behind them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "devices/cpu/onednn/nan_guard.h"
#include "devices/cpu/onednn/onednn_names.h"
#include "devices/cpu/onednn/onednn_primitive.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cpu {
namespace {

absl::StatusOr<dnnl::algorithm> binaryAlgorithm(PostOpKind kind) {
  switch (kind) {
    case PostOpKind::kBinaryAdd:
      return dnnl::algorithm::binary_add;
    case PostOpKind::kBinaryMul:
      return dnnl::algorithm::binary_mul;
    case PostOpKind::kBinaryMax:
      return dnnl::algorithm::binary_max;
    case PostOpKind::kBinaryMin:
      return dnnl::algorithm::binary_min;
    case PostOpKind::kBinarySub:
      return dnnl::algorithm::binary_sub;
    case PostOpKind::kBinaryDiv:
      return dnnl::algorithm::binary_div;
    default:
      return absl::InvalidArgumentError("a post-op is of an unknown kind");
  }
}

/// Dims of a post-op's operand at the rank of the result: 1 or the result's dim each. A result that
/// was flattened to fewer dims (matmul) takes a vector over its last dim, or the whole tensor.
absl::StatusOr<std::vector<int64_t>> alignDims(const std::vector<int64_t>& dims,
                                               const std::vector<int64_t>& output) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= dim;
  }
  int64_t all = 1;
  for (int64_t dim : output) {
    all *= dim;
  }
  std::vector<int64_t> aligned(output.size(), 1);
  if (dims.size() <= output.size()) {
    std::copy(dims.begin(), dims.end(), aligned.end() - static_cast<int64_t>(dims.size()));
  } else if (count == all) {
    return output;
  } else if (count == dims.back()) {
    aligned.back() = count;
  } else {
    return absl::UnimplementedError("the operand of a post-op does not fit the flattened result");
  }
  for (size_t d = 0; d < output.size(); ++d) {
    if (aligned[d] != 1 && aligned[d] != output[d]) {
      return absl::UnimplementedError("the operand of a post-op does not broadcast to the result");
    }
  }
  return aligned;
}

/// Appends a binary post-op to `ops` and its operand to `planned`.
absl::Status appendBinary(const Instruction& instruction, size_t index,
                          const std::vector<int64_t>& outputDims,
                          const dnnl::memory::desc* outputDesc, dnnl::post_ops& ops,
                          PlannedPostOps& planned) {
  const PostOp& op = instruction.postOps[index];
  GR_ASSIGN_OR_RETURN(dnnl::algorithm algorithm, binaryAlgorithm(op.kind));
  if (!op.operand) {
    return absl::InvalidArgumentError("a binary post-op lacks its operand");
  }
  TensorDesc desc = op.operand->desc;
  std::vector<int64_t> dims = desc.dims;
  if (desc.layout.empty()) {
    GR_ASSIGN_OR_RETURN(dims, alignDims(desc.dims, outputDims));
  }
  bool open = desc.any && dims == outputDims;
  desc.any = false;
  GR_ASSIGN_OR_RETURN(PlannedOperand operand, planOperand(desc, dims));
  if (open && outputDesc != nullptr) {
    dnnl_data_type_t type = operand.desc.data.data_type;
    operand.desc = *outputDesc;
    operand.desc.data.data_type = type;
  }
  planned.open = planned.open || open;
  planned.arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1,
                               {Operand::Role::kPostOp, index},
                               operand.desc,
                               operand.source});
  ops.append_binary(algorithm, operand.desc);
  return absl::OkStatus();
}

/// Appends an element-wise post-op, and the factor that follows it.
absl::Status appendEltwise(const Instruction& instruction, size_t index, dnnl::post_ops& ops) {
  const PostOp& op = instruction.postOps[index];
  GR_ASSIGN_OR_RETURN(dnnl::algorithm algorithm, eltwiseAlgorithm(op.algorithm));
  bool scaled =
      index + 1 < instruction.postOps.size() && onlyScales(instruction.postOps, index + 1);
  float scale = scaled ? instruction.postOps[index + 1].alpha : 1.0F;
  for (int i = 0; i < ops.len(); ++i) {
    dnnl::algorithm other = dnnl::algorithm::undef;
    float otherScale = 1, alpha = 0, beta = 0;
    if (ops.kind(i) == dnnl::primitive::kind::eltwise) {
      ops.get_params_eltwise(i, otherScale, other, alpha, beta);
    }
    // oneDNN 2.6 generates code for each algorithm once, with the parameters that come first.
    if (other == algorithm && (otherScale != scale || alpha != op.alpha || beta != op.beta)) {
      return absl::UnimplementedError(absl::StrCat(instruction.operation, ": ", op.algorithm,
                                                   " stands twice, with other parameters"));
    }
  }
  ops.append_eltwise(scale, algorithm, op.alpha, op.beta);
  return absl::OkStatus();
}

/// Plans operands of post-ops that the kernel itself applies: they lie as the result does.
absl::Status planAfter(const Instruction& instruction, size_t first,
                       const std::vector<int64_t>& outputDims, const dnnl::memory::desc* outputDesc,
                       PlannedPostOps& planned) {
  GR_ASSIGN_OR_RETURN(planned.after, AfterOps::make(instruction, first));
  for (size_t i = first; i < instruction.postOps.size(); ++i) {
    if (!instruction.postOps[i].operand) {
      continue;
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
    TensorDesc desc = instruction.postOps[i].operand->desc;
    bool open = desc.any;
    desc.any = false;
    GR_ASSIGN_OR_RETURN(PlannedOperand operand,
                        planOperand(desc, desc.layout.empty() ? outputDims : desc.dims));
    if (open && outputDesc != nullptr) {
      operand.desc = *outputDesc;
    } else if (outputDesc != nullptr && operand.desc != *outputDesc) {
      return absl::UnimplementedError(
          "the operand of a post-op lies in another layout than the result");
    }
    planned.open = true;  // the result's layout is to be known
    planned.arguments.push_back(
        {kBehindPrimitive, {Operand::Role::kPostOp, i}, operand.desc, operand.source});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlannedPostOps> planPostOps(const Instruction& instruction,
                                           const std::vector<int64_t>& outputDims,
                                           const dnnl::memory::desc* outputDesc) {
  PlannedPostOps planned;
  size_t own = std::min(AfterOps::firstOf(instruction), firstLosingUnseen(instruction));
  dnnl::post_ops ops;
  for (size_t i = 0; i < own; ++i) {
    const PostOp& op = instruction.postOps[i];
    if (op.kind == PostOpKind::kEltwise) {
      if (!onlyScales(instruction.postOps, i)) {
        GR_RETURN_IF_ERROR(appendEltwise(instruction, i, ops));
      }
    } else if (op.kind == PostOpKind::kSum) {
      ops.append_sum(1.0F);
    } else {
      GR_RETURN_IF_ERROR(appendBinary(instruction, i, outputDims, outputDesc, ops, planned));
    }
  }
  GR_RETURN_IF_ERROR(planAfter(instruction, own, outputDims, outputDesc, planned));
  GR_ASSIGN_OR_RETURN(auto scales, attributeOr(instruction, "scales", std::vector<double>()));
  if (!scales.empty()) {
    size_t channel = instruction.operation == "gr.conv" ? 1 : outputDims.size() - 1;
    planned.attributes.set_output_scales(scales.size() == 1 ? 0 : 1 << channel,
                                         std::vector<float>(scales.begin(), scales.end()));
  }
  planned.attributes.set_post_ops(ops);
  planned.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return planned;
}

absl::Status checkAfterOps(const AfterOps& after, const dnnl::memory::desc& result) {
  if (after.empty()) {
    return absl::OkStatus();
  }
  int64_t elements = 1;
  for (int64_t dim : result.data.ndims > 0 ? result.dims() : std::vector<int64_t>()) {
    elements *= dim;
  }
  auto held =
      static_cast<int64_t>(result.get_size() / dnnl::memory::data_type_size(result.data_type()));
  int64_t padded = 1;
  for (int d = 0; d < result.data.ndims; ++d) {
    padded *= result.data.padded_dims[d];
  }
  bool isKnown = result.data_type() == dnnl::memory::data_type::f32 ||
                 result.data_type() == dnnl::memory::data_type::bf16;
  return isKnown && held == padded && (padded == elements || after.keepsZero())
             ? absl::OkStatus()
             : absl::UnimplementedError("a function behind the result would reach its padding");
}

}  // namespace graphrun::devices::cpu
