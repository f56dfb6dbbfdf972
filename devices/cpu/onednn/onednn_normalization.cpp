// Softmax, local response and layer normalisation.
#include <algorithm>
#include <numeric>

#include "devices/cpu/base/dim_order.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"

namespace graphrun::devices::cpu {
namespace {

using Role = Operand::Role;

absl::StatusOr<int64_t> axisOf(const Instruction& instruction, size_t rank) {
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(instruction, "axis", -1));
  axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) {
    return absl::InvalidArgumentError(absl::StrCat(instruction.operation, ": axis out of range"));
  }
  return axis;
}

/// Dense but for one dim, which lies behind all others.
absl::StatusOr<TensorDesc> withLast(const TensorDesc& desc, size_t axis) {
  std::vector<size_t> order(desc.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::rotate(order.begin() + static_cast<int64_t>(axis),
              order.begin() + static_cast<int64_t>(axis) + 1, order.end());
  return inDimOrder(desc, order);
}

/// Input and result of one shape; the layout is the input's.
absl::StatusOr<PlannedOperand> planInput(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  if (instruction.inputs[0].desc.dims != instruction.outputs[0].desc.dims) {
    return absl::InvalidArgumentError(absl::StrCat(instruction.operation, ": shapes do not fit"));
  }
  TensorDesc desc = instruction.inputs[0].desc;
  desc.any = false;
  return planOperand(desc);
}

void addInOut(PrimitivePlan& plan, const dnnl::memory::desc& desc, const TensorDesc& source) {
  plan.arguments.push_back({DNNL_ARG_SRC, {Role::kInput, 0}, desc, source});
  plan.arguments.push_back({DNNL_ARG_DST, {Role::kOutput, 0}, desc, source});
}

}  // namespace

absl::StatusOr<PrimitivePlan> planSoftmax(const Instruction& instruction,
                                          const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 1, 1));
  GR_ASSIGN_OR_RETURN(PlannedOperand in, planInput(instruction));
  GR_ASSIGN_OR_RETURN(int64_t axis, axisOf(instruction, instruction.inputs[0].desc.dims.size()));
  if (isDense(instruction.inputs[0].desc)) {
    // The library is fast only along a dim whose elements follow each other.
    GR_ASSIGN_OR_RETURN(TensorDesc last,
                        withLast(instruction.inputs[0].desc, static_cast<size_t>(axis)));
    GR_ASSIGN_OR_RETURN(in, planOperand(last));
  }
  GR_ASSIGN_OR_RETURN(bool log, attributeOr(instruction, "log", false));
  if (log) {
    return absl::UnimplementedError("oneDNN's logarithm of a sum of 1 is not 0");
  }
  dnnl::softmax_v2_forward::desc desc(dnnl::prop_kind::forward_inference,
                                      dnnl::algorithm::softmax_accurate, in.desc, in.desc,
                                      static_cast<int>(axis));
  PrimitivePlan plan{dnnl::softmax_v2_forward::primitive_desc(desc, userScratch(), engine), {}};
  addInOut(plan, in.desc, in.source);
  return plan;
}

absl::StatusOr<PrimitivePlan> planLrn(const Instruction& instruction, const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 1, 1));
  GR_ASSIGN_OR_RETURN(PlannedOperand in, planInput(instruction));
  GR_ASSIGN_OR_RETURN(int64_t size, attribute<int64_t>(instruction, "size"));
  GR_ASSIGN_OR_RETURN(double alpha, attributeOr(instruction, "alpha", 1e-4));
  GR_ASSIGN_OR_RETURN(double beta, attributeOr(instruction, "beta", 0.75));
  GR_ASSIGN_OR_RETURN(double bias, attributeOr(instruction, "bias", 1.0));
  if (size % 2 == 0) {
    return absl::UnimplementedError("oneDNN normalises over an odd number of channels");
  }
  dnnl::lrn_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels, in.desc, size,
      static_cast<float>(alpha), static_cast<float>(beta), static_cast<float>(bias));
  PrimitivePlan plan{dnnl::lrn_forward::primitive_desc(desc, userScratch(), engine), {}};
  addInOut(plan, in.desc, in.source);
  return plan;
}

absl::StatusOr<PrimitivePlan> planLayerNorm(const Instruction& instruction,
                                            const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 2, 3));
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  const TensorDesc& input = instruction.inputs[0].desc;
  const TensorDesc& output = instruction.outputs[0].desc;
  GR_ASSIGN_OR_RETURN(int64_t axis, axisOf(instruction, input.dims.size()));
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  if (!input.layout.empty() || !output.layout.empty() || input.dims != output.dims) {
    return absl::UnimplementedError("layer_norm takes dense tensors of one shape");
  }
  // Rows of all trailing dims; the library wants at least two dims.
  std::vector<int64_t> dims = {1, 1};
  for (size_t d = 0; d < input.dims.size(); ++d) {
    dims[static_cast<int64_t>(d) >= axis ? 1 : 0] *= input.dims[d];
  }
  for (size_t i = 1; i < instruction.inputs.size(); ++i) {
    if (instruction.inputs[i].desc.spec().elementCount() != dims[1] ||
        instruction.inputs[i].desc.type != runtime::ElementType::kF32) {
      return absl::UnimplementedError(
          "layer_norm takes an f32 parameter for each element of a row");
    }
  }
  TensorDesc rows = input;
  rows.any = false;
  GR_ASSIGN_OR_RETURN(PlannedOperand in, planOperand(rows, dims));
  TensorDesc vector{runtime::ElementType::kF32, {dims[1]}, {}, false};
  GR_ASSIGN_OR_RETURN(PlannedOperand parameter, planOperand(vector));
  using dnnl::normalization_flags;
  bool hasBias = instruction.inputs.size() == 3;
  auto flags = normalization_flags::use_scale;
  if (hasBias) {
    flags = flags | normalization_flags::use_shift;
  }
  dnnl::layer_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, in.desc,
                                               static_cast<float>(epsilon), flags);
  PrimitivePlan plan{dnnl::layer_normalization_forward::primitive_desc(desc, userScratch(), engine),
                     {}};
  addInOut(plan, in.desc, in.source);
  plan.arguments.push_back({DNNL_ARG_SCALE, {Role::kInput, 1}, parameter.desc, parameter.source});
  if (hasBias) {
    plan.arguments.push_back({DNNL_ARG_SHIFT, {Role::kInput, 2}, parameter.desc, parameter.source});
  }
  return plan;
}

}  // namespace graphrun::devices::cpu
