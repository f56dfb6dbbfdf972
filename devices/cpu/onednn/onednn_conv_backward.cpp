// The gradients of a convolution: of its filter, and of its input, which is a transposed
// convolution.
#include "absl/strings/match.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

using Dims = std::vector<int64_t>;
using Role = Operand::Role;

/// The filter's dims as the library sees them: groups are a dim of their own.
Dims filterDims(const Dims& filter, int64_t groups) {
  if (groups == 1) {
    return filter;
  }
  Dims dims = {groups, filter[0] / groups};
  dims.insert(dims.end(), filter.begin() + 1, filter.end());
  return dims;
}

absl::StatusOr<int64_t> groupsOf(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 2, 2));
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& gradient = instruction.inputs[1].desc.dims;
  const Dims& filter = instruction.outputs[0].desc.dims;
  if (in.size() < 3 || in.size() > 5) {
    return absl::UnimplementedError("oneDNN takes 1 to 3 spatial dims");
  }
  if (gradient.size() != in.size() || filter.size() != in.size() || groups < 1 ||
      in[0] != gradient[0] || filter[0] != gradient[1] || filter[0] % groups != 0 ||
      filter[1] * groups != in[1]) {
    return absl::InvalidArgumentError(
        "gr.conv_backward_filter: the shapes of input, gradient and filter do not fit");
  }
  return groups;
}

absl::Status requireFast(const PrimitivePlan& plan) {
  return absl::StrContains(plan.descriptor.impl_info_str(), "ref")
             ? absl::UnimplementedError("the library has its reference only")
             : absl::OkStatus();
}

}  // namespace

absl::StatusOr<PrimitivePlan> planConvBackwardFilter(const Instruction& instruction,
                                                     const dnnl::engine& engine) {
  GR_ASSIGN_OR_RETURN(int64_t groups, groupsOf(instruction));
  GR_ASSIGN_OR_RETURN(Dims kernel, attribute<Dims>(instruction, "kernel"));
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> positions = instruction.inputs[1].desc.dims;
  GR_ASSIGN_OR_RETURN(Window w, windowOf(instruction, in.subspan(2), kernel, positions.subspan(2),
                                         /*ceilMode=*/true));
  const Dims skipped = w.skipped();
  GR_ASSIGN_OR_RETURN(PlannedOperand source, planOperand(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(PlannedOperand gradient, planOperand(instruction.inputs[1].desc));
  TensorDesc result = instruction.outputs[0].desc;
  // A blocked layout that has groups as a dim is none of the filter as its readers see it.
  result.any = result.any && groups == 1;
  GR_ASSIGN_OR_RETURN(PlannedOperand filter,
                      planOperand(result, filterDims(instruction.outputs[0].desc.dims, groups)));
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, kDirect, source.desc,
                                          filter.desc, gradient.desc, w.strides, skipped,
                                          w.padsBegin, w.padsCovering);
  dnnl::convolution_backward_weights::desc backward(kDirect, source.desc, filter.desc,
                                                    gradient.desc, w.strides, skipped, w.padsBegin,
                                                    w.padsCovering);
  dnnl::convolution_forward::primitive_desc hint(forward, engine);
  PrimitivePlan plan{
      dnnl::convolution_backward_weights::primitive_desc(backward, userScratch(), engine, hint),
      {},
      {}};
  GR_RETURN_IF_ERROR(requireFast(plan));
  addSource(plan, source);
  addArgument(plan, DNNL_ARG_DIFF_DST, {Role::kInput, 1}, dnnl::query::diff_dst_md, 0, gradient);
  addArgument(plan, DNNL_ARG_DIFF_WEIGHTS, {Role::kOutput, 0}, dnnl::query::diff_weights_md, 0,
              filter);
  return plan;
}

absl::StatusOr<PrimitivePlan> planConvBackwardData(const Instruction& instruction,
                                                   const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireFloatInstruction(instruction, 2, 2));
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> kernel = instruction.inputs[1].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  if (in.size() < 3 || in.size() > 5 || groups != 1) {
    return absl::UnimplementedError("gradients of inputs have 1 to 3 spatial dims and one group");
  }
  if (kernel.size() != in.size() || out.size() != in.size() || in[0] != out[0] ||
      kernel[0] != in[1] || kernel[1] != out[1]) {
    return absl::InvalidArgumentError(
        "gr.conv_transpose: the shapes of input, filter and result do not fit");
  }
  GR_ASSIGN_OR_RETURN(
      Window w, transposedWindowOf(instruction, in.subspan(2), kernel.subspan(2), out.subspan(2)));
  const Dims skipped = w.skipped();
  GR_ASSIGN_OR_RETURN(PlannedOperand gradient, planOperand(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(PlannedOperand filter, planOperand(instruction.inputs[1].desc));
  GR_ASSIGN_OR_RETURN(PlannedOperand result, planOperand(instruction.outputs[0].desc));
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, kDirect, result.desc,
                                          filter.desc, gradient.desc, w.strides, skipped,
                                          w.padsBegin, w.padsCovering);
  dnnl::convolution_backward_data::desc backward(kDirect, result.desc, filter.desc, gradient.desc,
                                                 w.strides, skipped, w.padsBegin, w.padsCovering);
  dnnl::convolution_forward::primitive_desc hint(forward, engine);
  PrimitivePlan plan{
      dnnl::convolution_backward_data::primitive_desc(backward, userScratch(), engine, hint),
      {},
      {}};
  GR_RETURN_IF_ERROR(requireFast(plan));
  addArgument(plan, DNNL_ARG_DIFF_DST, {Role::kInput, 0}, dnnl::query::diff_dst_md, 0, gradient);
  addArgument(plan, DNNL_ARG_WEIGHTS, {Role::kInput, 1}, dnnl::query::weights_md, 0, filter);
  addArgument(plan, DNNL_ARG_DIFF_SRC, {Role::kOutput, 0}, dnnl::query::diff_src_md, 0, result);
  return plan;
}

}  // namespace graphrun::devices::cpu
