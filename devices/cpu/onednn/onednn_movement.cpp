// Reorders between layouts, transposition as one of them, and concatenation.
#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"

namespace graphrun::devices::cpu {
namespace {

using Role = Operand::Role;

/// The input of a transposition, seen with the dims of its result.
absl::StatusOr<PlannedOperand> planTransposed(const Instruction& instruction) {
  const TensorDesc& in = instruction.inputs[0].desc;
  const TensorDesc& out = instruction.outputs[0].desc;
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> permutation,
                      attribute<std::vector<int64_t>>(instruction, "permutation"));
  if (!in.layout.empty()) {
    return absl::UnimplementedError("gr.transpose reads a dense tensor");
  }
  std::vector<int64_t> dense = denseStrides(in.dims);
  std::vector<int64_t> strides;
  for (size_t d = 0; d < permutation.size(); ++d) {
    int64_t from = permutation[d];
    if (permutation.size() != in.dims.size() || out.dims.size() != in.dims.size() || from < 0 ||
        from >= static_cast<int64_t>(in.dims.size()) || out.dims[d] != in.dims[from] ||
        std::count(permutation.begin(), permutation.end(), from) != 1) {
      return absl::InvalidArgumentError("gr.transpose: permutation and shapes do not fit");
    }
    strides.push_back(dense[from]);
  }
  TensorDesc desc = in;
  desc.any = false;
  return planOperand(desc, out.dims, strides);
}

}  // namespace

absl::StatusOr<PrimitivePlan> planReorder(const Instruction& instruction,
                                          const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  if (instruction.inputs.size() != 1 || instruction.outputs.size() != 1 ||
      isOpaque(instruction.inputs[0].desc) || isOpaque(instruction.outputs[0].desc)) {
    return absl::InvalidArgumentError("a reorder has one operand and one result");
  }
  const TensorDesc& input = instruction.inputs[0].desc;
  const TensorDesc& output = instruction.outputs[0].desc;
  bool transposes = instruction.operation == "gr.transpose";
  if (!transposes && input.dims != output.dims) {
    return absl::InvalidArgumentError("a reorder does not change the dims");
  }
  TensorDesc fixed = output;
  fixed.any = false;
  absl::StatusOr<PlannedOperand> in = transposes ? planTransposed(instruction) : planOperand(input);
  GR_RETURN_IF_ERROR(in.status());
  GR_ASSIGN_OR_RETURN(PlannedOperand out, planOperand(fixed));
  PrimitivePlan plan{
      dnnl::reorder::primitive_desc(engine, in->desc, engine, out.desc, userScratch()), {}};
  plan.arguments.push_back({DNNL_ARG_FROM, {Role::kInput, 0}, in->desc, in->source});
  plan.arguments.push_back({DNNL_ARG_TO, {Role::kOutput, 0}, out.desc, out.source});
  return plan;
}

absl::StatusOr<PrimitivePlan> planConcat(const Instruction& instruction,
                                         const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  GR_ASSIGN_OR_RETURN(int64_t axis, attribute<int64_t>(instruction, "axis"));
  if (instruction.inputs.empty() || instruction.outputs.size() != 1 || axis < 0 ||
      axis >= static_cast<int64_t>(instruction.outputs[0].desc.dims.size())) {
    return absl::InvalidArgumentError("gr.concat: axis out of range");
  }
  std::vector<PlannedOperand> inputs;
  std::vector<dnnl::memory::desc> descs;
  for (const Argument& input : instruction.inputs) {
    TensorDesc desc = input.desc;
    desc.any = false;
    GR_ASSIGN_OR_RETURN(PlannedOperand planned, planOperand(desc));
    descs.push_back(planned.desc);
    inputs.push_back(std::move(planned));
  }
  GR_ASSIGN_OR_RETURN(PlannedOperand out, planOperand(instruction.outputs[0].desc));
  auto describe = [&](const dnnl::memory::desc& result) {
    return dnnl::concat::primitive_desc(result, static_cast<int>(axis), descs, engine,
                                        userScratch());
  };
  PrimitivePlan plan{describe(out.desc), {}};
  // Dims of 1 leave strides open: a dense result may have other numbers here than it will have when
  // the kernel is made, and they decide which of its kernels, and how much scratch, the library
  // takes.
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc dense, memoryDesc(out.source));
  if (plan.descriptor.query_md(dnnl::query::dst_md, 0) == dense) {
    plan.descriptor = describe(dense);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    plan.arguments.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i),
                              {Role::kInput, i},
                              inputs[i].desc,
                              inputs[i].source});
  }
  addResult(plan, out);
  return plan;
}

}  // namespace graphrun::devices::cpu
