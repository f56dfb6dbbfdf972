// Element-wise operations and reductions that stand alone (generated kernels do the chains).
#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"
#include "devices/cpu/onednn/onednn_names.h"

namespace graphrun::devices::cpu {
namespace {

using dnnl::algorithm;
using Role = Operand::Role;

/// First and second parameter of an element-wise operation, as the library numbers them.
struct Parameters {
  double alpha = 0;
  double beta = 0;
};

absl::StatusOr<Parameters> parametersOf(const Instruction& instruction) {
  Parameters p;
  if (instruction.operation == "gr.clip") {
    GR_ASSIGN_OR_RETURN(p.alpha, attribute<double>(instruction, "low"));
    GR_ASSIGN_OR_RETURN(p.beta, attribute<double>(instruction, "high"));
  } else if (instruction.operation == "gr.leaky_relu") {
    GR_ASSIGN_OR_RETURN(p.alpha, attributeOr(instruction, "alpha", 0.01));
  }
  return p;
}

/// The operand at the rank of the result, with dims of 1 in front.
absl::StatusOr<PlannedOperand> planBroadcast(TensorDesc desc, size_t rank) {
  desc.any = false;
  std::vector<int64_t> dims = desc.dims;
  if (desc.layout.empty() && dims.size() < rank) {
    dims.insert(dims.begin(), rank - dims.size(), 1);
  }
  return planOperand(desc, dims);
}

}  // namespace

absl::StatusOr<PrimitivePlan> planEltwise(const Instruction& instruction,
                                          const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 1, 1));
  GR_ASSIGN_OR_RETURN(algorithm kind, eltwiseAlgorithm(instruction.operation));
  GR_ASSIGN_OR_RETURN(Parameters parameters, parametersOf(instruction));
  if (instruction.inputs[0].desc.dims != instruction.outputs[0].desc.dims) {
    return absl::InvalidArgumentError(absl::StrCat(instruction.operation, ": shapes do not fit"));
  }
  TensorDesc desc = instruction.inputs[0].desc;
  desc.any = false;
  GR_ASSIGN_OR_RETURN(PlannedOperand in, planOperand(desc));
  dnnl::eltwise_forward::desc op(dnnl::prop_kind::forward_inference, kind, in.desc,
                                 static_cast<float>(parameters.alpha),
                                 static_cast<float>(parameters.beta));
  GR_ASSIGN_OR_RETURN(
      PrimitivePlan plan,
      planWithPostOps(instruction, desc.dims, [&](const dnnl::primitive_attr& attributes) {
        return dnnl::eltwise_forward::primitive_desc(op, attributes, engine);
      }));
  plan.arguments.push_back({DNNL_ARG_SRC, {Role::kInput, 0}, in.desc, in.source});
  plan.arguments.push_back({DNNL_ARG_DST, {Role::kOutput, 0}, in.desc, in.source});
  return plan;
}

absl::StatusOr<PrimitivePlan> planBinary(const Instruction& instruction,
                                         const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 2, 2));
  GR_ASSIGN_OR_RETURN(algorithm kind, binaryAlgorithm(instruction.operation));
  size_t rank = std::max<size_t>(instruction.outputs[0].desc.dims.size(), 1);
  GR_ASSIGN_OR_RETURN(PlannedOperand lhs, planBroadcast(instruction.inputs[0].desc, rank));
  GR_ASSIGN_OR_RETURN(PlannedOperand rhs, planBroadcast(instruction.inputs[1].desc, rank));
  GR_ASSIGN_OR_RETURN(PlannedOperand out, planOperand(instruction.outputs[0].desc));
  dnnl::binary::desc op(kind, lhs.desc, rhs.desc, out.desc);
  GR_ASSIGN_OR_RETURN(
      PrimitivePlan plan,
      planWithPostOps(instruction, out.source.dims, [&](const dnnl::primitive_attr& attributes) {
        return dnnl::binary::primitive_desc(op, attributes, engine);
      }));
  plan.arguments.push_back({DNNL_ARG_SRC_0, {Role::kInput, 0}, lhs.desc, lhs.source});
  plan.arguments.push_back({DNNL_ARG_SRC_1, {Role::kInput, 1}, rhs.desc, rhs.source});
  addResult(plan, out);
  return plan;
}

absl::StatusOr<PrimitivePlan> planReduction(const Instruction& instruction,
                                            const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 1, 1));
  GR_ASSIGN_OR_RETURN(std::string kindName, attribute<std::string>(instruction, "kind"));
  GR_ASSIGN_OR_RETURN(algorithm kind, reductionAlgorithm(kindName));
  if (kind == algorithm::reduction_max || kind == algorithm::reduction_min) {
    return absl::UnimplementedError("oneDNN starts from the largest finite number, not infinity");
  }
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> axes,
                      attribute<std::vector<int64_t>>(instruction, "axes"));
  TensorDesc desc = instruction.inputs[0].desc;
  desc.any = false;
  GR_ASSIGN_OR_RETURN(PlannedOperand in, planOperand(desc));
  std::vector<int64_t> dims = in.source.dims;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) {
      return absl::InvalidArgumentError(absl::StrCat(instruction.operation, ": axis out of range"));
    }
    dims[axis] = 1;
  }
  if (dims == in.source.dims) {
    return absl::UnimplementedError("nothing is reduced");
  }
  GR_ASSIGN_OR_RETURN(PlannedOperand out, planOperand(instruction.outputs[0].desc, dims));
  dnnl::reduction::desc op(kind, in.desc, out.desc, 0.0F, 0.0F);
  GR_ASSIGN_OR_RETURN(
      PrimitivePlan plan,
      planWithPostOps(instruction, dims, [&](const dnnl::primitive_attr& attributes) {
        return dnnl::reduction::primitive_desc(op, attributes, engine);
      }));
  plan.arguments.push_back({DNNL_ARG_SRC, {Role::kInput, 0}, in.desc, in.source});
  addResult(plan, out);
  return plan;
}

}  // namespace graphrun::devices::cpu
