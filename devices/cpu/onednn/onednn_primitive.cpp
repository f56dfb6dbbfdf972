#include "devices/cpu/onednn/onednn_primitive.h"

#include <algorithm>
#include <cassert>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/nan_guard.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/threading/kernel_team.h"
#include "devices/cpu/vectors/instructions.h"

namespace graphrun::devices::cpu {
namespace {

/// Runs a primitive on the program's buffers.
class PrimitiveKernel : public OneDnnKernel {
 public:
  PrimitiveKernel(OneDnn& onednn, const PrimitivePlan& plan)
      : primitive_(plan.descriptor.get()), stream_(onednn.stream), after_(plan.after) {}

  void bind(int id, uint32_t buffer, const dnnl::memory::desc& desc, const dnnl::engine& engine) {
    if (id == kBehindPrimitive) {
      return;
    }
    memories_.push_back(dnnl::memory(desc, engine, DNNL_MEMORY_NONE));
    buffers_.push_back({buffer, nullptr});
    arguments_.push_back({id, memories_.back().get()});
    if (id == DNNL_ARG_DST) {
      result_ = buffer;
      resultElements_ =
          static_cast<int64_t>(desc.get_size() / dnnl::memory::data_type_size(desc.data_type()));
    }
  }

  int run(void* const* buffers) override {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      void* address = buffers[buffers_[i].index];
      // A new address is rare, and the library clears the padding behind it: only on change.
      if (address != buffers_[i].last) {
        if (dnnl_memory_set_data_handle(arguments_[i].memory, address) != dnnl_success) {
          return dnnl_runtime_error;
        }
        buffers_[i].last = address;
      }
    }
    dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    if (!after_.empty() && status == dnnl_success) {
      after_.run(buffers, result_, resultElements_);
    }
    return status;
  }

 private:
  struct Bound {
    uint32_t index;
    void* last;
  };
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<Bound> buffers_;
  std::vector<dnnl_exec_arg_t> arguments_;
  AfterOps after_;
  uint32_t result_ = 0;
  int64_t resultElements_ = 0;
};

const Argument& argumentOf(const Instruction& instruction, const Operand& operand) {
  switch (operand.role) {
    case Operand::Role::kInput:
      return instruction.inputs[operand.index];
    case Operand::Role::kOutput:
      return instruction.outputs[operand.index];
    case Operand::Role::kPostOp:
      break;
  }
  const std::optional<Argument>& other = instruction.postOps[operand.index].operand;
  assert(other.has_value());  // plans name operands that they found there
  return *other;
}

/// A tensor whose layout is the primitive's to choose.
absl::StatusOr<dnnl::memory::desc> openMemory(runtime::ElementType type,
                                              const std::vector<int64_t>& dims) {
  std::optional<dnnl::memory::data_type> known = dnnlType(type);
  if (!known) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN has no type ", runtime::elementTypeName(type)));
  }
  return dnnl::memory::desc(dims, *known, dnnl::memory::format_tag::any);
}

absl::StatusOr<PrimitivePlan> guardedPlan(const Instruction& instruction,
                                          const dnnl::engine& engine, PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(absl::StatusOr<PrimitivePlan> planned,
                      guarded(instruction.operation, [&] { return plan(instruction, engine); }));
  return planned;
}

/// The descriptors have the same strides, those of dims of 1 included: implementations look at them
/// where they lay nothing out.
bool sameStrides(const dnnl::memory::desc& a, const dnnl::memory::desc& b) {
  return std::equal(a.data.format_desc.blocking.strides,
                    a.data.format_desc.blocking.strides + a.data.ndims,
                    b.data.format_desc.blocking.strides);
}

/// Returns the operand's layout: as given where that is what the primitive uses, else as it wants
/// it.
absl::StatusOr<TensorDesc> chosenDesc(const TensorDesc& given, const PlannedArgument& argument) {
  TensorDesc same = given;
  same.any = false;
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc has,
                      memoryDesc(given.any || given.layout.empty() ? argument.source : given));
  // What an open operand gets is what the loader will ask the library with: to the last stride. An
  // input may be laid out with other dims than the instruction gives it; a result has its own.
  bool exact = given.any && (argument.operand.role == Operand::Role::kInput ||
                             given.dims == argument.source.dims);
  return has == argument.desc && (!exact || sameStrides(has, argument.desc))
             ? same
             : layoutDesc(argument.desc, given.type);
}

/// The operand's layout is the one that the primitive will use.
absl::Status checkArgument(const Instruction& instruction, const PlannedArgument& argument) {
  const TensorDesc& given = tensorOf(instruction, argument.operand);
  if (given.any) {
    return absl::InvalidArgumentError(
        absl::StrCat(instruction.operation, ": an operand has no layout"));
  }
  dnnl::memory::desc has = argument.desc;
  if (!given.layout.empty()) {
    GR_ASSIGN_OR_RETURN(has, memoryDesc(given));
  } else {
    GR_ASSIGN_OR_RETURN(has, memoryDesc(argument.source));
  }
  if (has != argument.desc) {
    return absl::InvalidArgumentError(
        absl::StrCat(instruction.operation, ": an operand has layout ", layoutName(given),
                     ", the primitive wants ", layoutName(plainDesc(argument.desc, given.type))));
  }
  return absl::OkStatus();
}

}  // namespace

const TensorDesc& tensorOf(const Instruction& instruction, const Operand& operand) {
  return argumentOf(instruction, operand).desc;
}

absl::StatusOr<PlannedOperand> planOperand(const TensorDesc& desc, const std::vector<int64_t>& dims,
                                           const std::vector<int64_t>& strides) {
  PlannedOperand planned;
  planned.source = TensorDesc{desc.type, dims, {}, false};
  if (!strides.empty() && strides != denseStrides(dims)) {
    GR_ASSIGN_OR_RETURN(planned.source, stridedDesc(desc.type, dims, strides));
  }
  if (!desc.layout.empty() && desc.dims == dims) {
    GR_ASSIGN_OR_RETURN(planned.desc, memoryDesc(desc));
    return planned;
  }
  if (!desc.layout.empty()) {
    return absl::UnimplementedError("an operand has a layout for other dims");
  }
  if (desc.spec().elementCount() != planned.source.spec().elementCount()) {
    return absl::InvalidArgumentError("the shapes of the operands do not fit");
  }
  GR_ASSIGN_OR_RETURN(planned.desc, memoryDesc(planned.source));
  if (desc.any) {
    GR_ASSIGN_OR_RETURN(planned.desc, openMemory(desc.type, dims));
  }
  return planned;
}

absl::StatusOr<PlannedOperand> planOperand(const TensorDesc& desc) {
  return planOperand(desc, desc.dims.empty() ? std::vector<int64_t>{1} : desc.dims);
}

OneDnn::OneDnn() { KernelTeam::takesRegions(); }

namespace {

/// Chooses what the primitive alone wants.
absl::StatusOr<LayoutChoice> choosePlain(const Instruction& instruction, PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(
      absl::StatusOr<LayoutChoice> choice,
      guarded(instruction.operation, [&]() -> absl::StatusOr<LayoutChoice> {
        dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        GR_ASSIGN_OR_RETURN(PrimitivePlan planned, plan(instruction, engine));
        LayoutChoice result;
        for (const Argument& input : instruction.inputs) {
          result.inputs.push_back(input.desc);
          result.sources.push_back(TensorDesc{input.desc.type, input.desc.dims, {}, false});
        }
        for (const Argument& output : instruction.outputs) {
          result.outputs.push_back(output.desc);
        }
        result.postOps.resize(instruction.postOps.size());
        for (const PlannedArgument& argument : planned.arguments) {
          const TensorDesc& given = tensorOf(instruction, argument.operand);
          GR_ASSIGN_OR_RETURN(TensorDesc chosen, chosenDesc(given, argument));
          if (argument.operand.role == Operand::Role::kInput && !chosen.layout.empty()) {
            result.sources[argument.operand.index] = argument.source;
          }
          auto& list = argument.operand.role == Operand::Role::kInput    ? result.inputs
                       : argument.operand.role == Operand::Role::kOutput ? result.outputs
                                                                         : result.postOps;
          list[argument.operand.index] = std::move(chosen);
        }
        result.scratchBytes = planned.descriptor.scratchpad_desc().get_size();
        result.implementation = planned.descriptor.impl_info_str();
        return result;
      }));
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createPlain(const Instruction& instruction,
                                                    KernelContext& context, PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(PrimitivePlan planned, guardedPlan(instruction, context.onednn.engine, plan));
  for (const PlannedArgument& argument : planned.arguments) {
    GR_RETURN_IF_ERROR(checkArgument(instruction, argument));
  }
  size_t scratch = planned.descriptor.scratchpad_desc().get_size();
  GR_RETURN_IF_ERROR(scratch == 0 ? absl::OkStatus()
                                  : scratchBuffer(instruction, scratch).status());
  return guarded(instruction.operation, [&]() -> std::unique_ptr<Kernel> {
    auto kernel = std::make_unique<PrimitiveKernel>(context.onednn, planned);
    for (const PlannedArgument& argument : planned.arguments) {
      kernel->bind(argument.id, argumentOf(instruction, argument.operand).buffer, argument.desc,
                   context.onednn.engine);
    }
    if (scratch > 0) {
      kernel->bind(DNNL_ARG_SCRATCHPAD, instruction.scratch->buffer,
                   planned.descriptor.scratchpad_desc(), context.onednn.engine);
    }
    return kernel;
  });
}

}  // namespace

absl::StatusOr<LayoutChoice> choosePrimitive(const Instruction& instruction, PlanFunction plan) {
  if (operationMayLoseNaN(instruction) && !canBeGuarded(instruction)) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": the library would lose NaN"));
  }
  return choosePlain(instruction, plan);
}

absl::StatusOr<std::unique_ptr<Kernel>> createPrimitive(const Instruction& instruction,
                                                        KernelContext& context, PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, createPlain(instruction, context, plan));
  return mayLoseNaN(instruction) && canBeGuarded(instruction)
             ? guardNaN(std::move(kernel), instruction, plan, context.onednn)
             : std::move(kernel);
}

absl::Status requireFloatInstruction(const Instruction& instruction, size_t inputs,
                                     size_t maxInputs) {
  if (instruction.inputs.size() < inputs || instruction.inputs.size() > maxInputs ||
      instruction.outputs.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(instruction.operation, ": has ", instruction.inputs.size(),
                     " operands, expected ", inputs, " to ", maxInputs, " and one result"));
  }
  auto good = [](const Argument& argument) {
    return argument.desc.type == runtime::ElementType::kF32 ||
           argument.desc.type == runtime::ElementType::kBF16;
  };
  if (!std::all_of(instruction.inputs.begin(), instruction.inputs.end(), good) ||
      !good(instruction.outputs[0])) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": oneDNN kernels take f32 and bf16 only"));
  }
  return absl::OkStatus();
}

dnnl::primitive_attr userScratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void addArgument(PrimitivePlan& plan, int id, Operand operand, dnnl::query query, int index,
                 const PlannedOperand& planned) {
  plan.arguments.push_back({id, operand, plan.descriptor.query_md(query, index), planned.source});
}

void addSource(PrimitivePlan& plan, const PlannedOperand& source) {
  addArgument(plan, DNNL_ARG_SRC, {Operand::Role::kInput, 0}, dnnl::query::src_md, 0, source);
}

void addResult(PrimitivePlan& plan, const PlannedOperand& result) {
  addArgument(plan, DNNL_ARG_DST, {Operand::Role::kOutput, 0}, dnnl::query::dst_md, 0, result);
}

void addProductArguments(PrimitivePlan& plan, const PlannedOperand& source,
                         const PlannedOperand& weights, const PlannedOperand* bias,
                         const PlannedOperand& result) {
  using Role = Operand::Role;
  addSource(plan, source);
  addArgument(plan, DNNL_ARG_WEIGHTS, {Role::kInput, 1}, dnnl::query::weights_md, 0, weights);
  if (bias != nullptr) {
    addArgument(plan, DNNL_ARG_BIAS, {Role::kInput, 2}, dnnl::query::weights_md, 1, *bias);
  }
  addResult(plan, result);
}

absl::Status requireProductInstruction(const Instruction& instruction) {
  using runtime::ElementType;
  bool quantized = instruction.inputs.size() >= 2 && instruction.outputs.size() == 1 &&
                   instruction.inputs[0].desc.type == ElementType::kU8 &&
                   instruction.inputs[1].desc.type == ElementType::kI8;
  if (!quantized) {
    return requireFloatInstruction(instruction, 2, 3);
  }
  // A bias would be added in f32, as post-operations compute.
  if (givesSums(instruction) && (instruction.inputs.size() > 2 || !instruction.postOps.empty())) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": oneDNN adds nothing to integer sums exactly"));
  }
  return sumsBytesExactly()
             ? absl::OkStatus()
             : absl::UnimplementedError(
                   absl::StrCat(instruction.operation, ": the machine has no exact sums of bytes"));
}

absl::Status requireNoPostOps(const Instruction& instruction) {
  if (!instruction.postOps.empty()) {
    return absl::UnimplementedError(absl::StrCat(instruction.operation, ": takes no post-ops"));
  }
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cpu
