// All oneDNN kernels share this: an instruction becomes a PrimitivePlan (a primitive descriptor and
// what each of its arguments is); from the plan follow both the wanted layouts and the kernel.
// Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_PRIMITIVE_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_PRIMITIVE_H_

#include <oneapi/dnnl/dnnl.hpp>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_memory.h"
#include "devices/cpu/onednn/after_ops.h"

namespace graphrun::devices::cpu {

/// Engine and stream of one program, whose kernels run on KernelTeam.
struct OneDnn {
  OneDnn();

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

/// An Operand says which tensor of an instruction a primitive's argument is.
struct Operand {
  enum class Role { kInput, kOutput, kPostOp };
  Role role;
  size_t index;
};

/// The id of an argument that the primitive does not get: AfterOps read it.
inline constexpr int kBehindPrimitive = 0;

/// One argument of a primitive: DNNL_ARG_…, and its descriptor as the primitive wants it.
struct PlannedArgument {
  int id;
  Operand operand;
  dnnl::memory::desc desc;
  /// The operand as dense bytes, under `desc`'s dims: what packing reads.
  TensorDesc source;
};

struct PrimitivePlan {
  dnnl::primitive_desc_base descriptor;
  std::vector<PlannedArgument> arguments;
  AfterOps after;  ///< the last post-ops, where the kernel does them itself
};

/// Makes the plan of an instruction for one kind of primitive. May throw dnnl::error.
using PlanFunction = absl::StatusOr<PrimitivePlan> (*)(const Instruction& instruction,
                                                       const dnnl::engine& engine);

/// KernelEntry::choose and ::create for the primitives that `plan` plans.
absl::StatusOr<LayoutChoice> choosePrimitive(const Instruction& instruction, PlanFunction plan);
absl::StatusOr<std::unique_ptr<Kernel>> createPrimitive(const Instruction& instruction,
                                                        KernelContext& context, PlanFunction plan);

template <PlanFunction plan>
absl::StatusOr<LayoutChoice> chooseWith(const Instruction& instruction) {
  return choosePrimitive(instruction, plan);
}
template <PlanFunction plan>
absl::StatusOr<std::unique_ptr<Kernel>> createWith(const Instruction& instruction,
                                                   KernelContext& context) {
  return createPrimitive(instruction, context, plan);
}

/// The tensor that `operand` names.
const TensorDesc& tensorOf(const Instruction& instruction, const Operand& operand);

/// An operand on its way into a plan: what the primitive is asked with, and its dense form.
struct PlannedOperand {
  dnnl::memory::desc desc;
  TensorDesc source;
};

/// `desc` for a primitive that sees it with `dims`, which lie in the dense tensor with `strides`
/// (empty: row-major; same number of elements). An open layout asks for any; a given one must have
/// `dims`.
absl::StatusOr<PlannedOperand> planOperand(const TensorDesc& desc, const std::vector<int64_t>& dims,
                                           const std::vector<int64_t>& strides = {});
/// The same where the primitive sees the operand as it is.
absl::StatusOr<PlannedOperand> planOperand(const TensorDesc& desc);

/// Attributes of a primitive whose caller gives the scratch memory.
dnnl::primitive_attr userScratch();

/// Adds the operand or result `id` (DNNL_ARG_…) to a plan, with the layout that the primitive
/// chose: the descriptor's answer to `query`.
void addArgument(PrimitivePlan& plan, int id, Operand operand, dnnl::query query, int index,
                 const PlannedOperand& planned);
/// Adds the first operand, and the one result.
void addSource(PrimitivePlan& plan, const PlannedOperand& source);
void addResult(PrimitivePlan& plan, const PlannedOperand& result);
/// Adds those of a convolution or product; `bias` may be null.
void addProductArguments(PrimitivePlan& plan, const PlannedOperand& source,
                         const PlannedOperand& weights, const PlannedOperand* bias,
                         const PlannedOperand& result);

/// Attributes of a primitive: post-ops, and scratch memory that the caller gives. `outputDims` are
/// those of the primitive's result, to which the operands of binary post-ops broadcast; an operand
/// with an open layout gets `outputDesc` when it has the result's dims, else a dense one.
struct PlannedPostOps {
  dnnl::primitive_attr attributes;
  std::vector<PlannedArgument> arguments;
  AfterOps after;     ///< the last ones, which are not among the attributes
  bool open = false;  ///< an operand waits for the result's layout: plan again with it
};
absl::StatusOr<PlannedPostOps> planPostOps(const Instruction& instruction,
                                           const std::vector<int64_t>& outputDims,
                                           const dnnl::memory::desc* outputDesc);

/// A result that AfterOps run over is whole, but for padding that they keep zero.
absl::Status checkAfterOps(const AfterOps& after, const dnnl::memory::desc& result);

/// Makes a descriptor with the instruction's post-ops: `make(attributes)` gives the primitive_desc.
/// Asks twice when a post-op's operand takes the layout of the result.
template <typename Make>
absl::StatusOr<PrimitivePlan> planWithPostOps(const Instruction& instruction,
                                              const std::vector<int64_t>& outputDims, Make make) {
  GR_ASSIGN_OR_RETURN(PlannedPostOps ops, planPostOps(instruction, outputDims, nullptr));
  PrimitivePlan plan{make(ops.attributes), {}, ops.after};
  if (ops.open) {
    dnnl::memory::desc result = plan.descriptor.query_md(dnnl::query::dst_md, 0);
    GR_ASSIGN_OR_RETURN(ops, planPostOps(instruction, outputDims, &result));
    plan.descriptor = make(ops.attributes);
  }
  GR_RETURN_IF_ERROR(checkAfterOps(plan.after, plan.descriptor.query_md(dnnl::query::dst_md, 0)));
  plan.arguments = std::move(ops.arguments);
  return plan;
}

/// Fails with Unimplemented unless the instruction has `inputs` to `maxInputs` operands, one
/// result, and all of them are of type f32 (or bf16 where the library and the machine can).
absl::Status requireFloatInstruction(const Instruction& instruction, size_t inputs,
                                     size_t maxInputs);

/// The same for a product, with or without a bias: also u8 by i8 where the machine's instructions
/// do not saturate on the way. Their sums in i32 are exact, so stand alone (no bias, no post-ops);
/// with f32 or bytes as result they are multiplied by the attribute "scales" (one, or one a
/// channel) behind a bias of i32, before the post-ops.
absl::Status requireProductInstruction(const Instruction& instruction);

/// True for a product of integers.
inline bool isQuantized(const Instruction& instruction) {
  return instruction.inputs[0].desc.type == runtime::ElementType::kU8;
}

/// True where it gives the sums themselves.
inline bool givesSums(const Instruction& instruction) {
  return instruction.outputs[0].desc.type == runtime::ElementType::kI32;
}

/// Fails with Unimplemented when the instruction has post-ops.
absl::Status requireNoPostOps(const Instruction& instruction);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_PRIMITIVE_H_
