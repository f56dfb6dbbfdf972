#include "devices/cpu/onednn/onednn_primitive.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/nan_guard.h"
#include "devices/cpu/threading/kernel_team.h"
#include "devices/cpu/vectors/instructions.h"

namespace graphrun::devices::cpu {
namespace {

bool sameDescriptor(const dnnl::memory::desc& a, const dnnl::memory::desc& b) {
  return dnnl_memory_desc_equal(&a.data, &b.data) != 0;
}

/// Runs a primitive on the program's buffers.
class PrimitiveKernel : public Kernel {
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

  absl::Status errorMessage(int code) const override {
    return absl::InternalError(absl::StrCat("oneDNN gave status ", code, " (dnnl_status_t)"));
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

const Argument& argumentOf(const Step& step, const Operand& operand) {
  switch (operand.role) {
    case Operand::Role::kInput:
      return step.inputs[operand.index];
    case Operand::Role::kOutput:
      return step.outputs[operand.index];
    case Operand::Role::kPostOp:
      break;
  }
  const std::optional<Argument>& other = step.postOps[operand.index].operand;
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

absl::StatusOr<PrimitivePlan> guardedPlan(const Step& step, const dnnl::engine& engine,
                                          PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(absl::StatusOr<PrimitivePlan> planned,
                      guarded(step.operation, [&] { return plan(step, engine); }));
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
  // input may be laid out with other dims than the step gives it; a result has its own.
  bool exact = given.any && (argument.operand.role == Operand::Role::kInput ||
                             given.dims == argument.source.dims);
  return sameDescriptor(has, argument.desc) && (!exact || sameStrides(has, argument.desc))
             ? same
             : layoutDesc(argument.desc, given.type);
}

/// The operand's layout is the one that the primitive will use.
absl::Status checkArgument(const Step& step, const PlannedArgument& argument) {
  const TensorDesc& given = tensorOf(step, argument.operand);
  if (given.any) {
    return absl::InvalidArgumentError(absl::StrCat(step.operation, ": an operand has no layout"));
  }
  dnnl::memory::desc has = argument.desc;
  if (!given.layout.empty()) {
    GR_ASSIGN_OR_RETURN(has, memoryDesc(given));
  } else {
    GR_ASSIGN_OR_RETURN(has, memoryDesc(argument.source));
  }
  if (!sameDescriptor(has, argument.desc)) {
    return absl::InvalidArgumentError(
        absl::StrCat(step.operation, ": an operand has layout ", layoutName(given),
                     ", the primitive wants ", layoutName(plainDesc(argument.desc, given.type))));
  }
  return absl::OkStatus();
}

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
      return absl::InvalidArgumentError("unknown kind of post-op");
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
    return absl::UnimplementedError("operand of a post-op does not fit the flattened result");
  }
  for (size_t d = 0; d < output.size(); ++d) {
    if (aligned[d] != 1 && aligned[d] != output[d]) {
      return absl::UnimplementedError("operand of a post-op does not broadcast to the result");
    }
  }
  return aligned;
}

/// Appends a binary post-op to `ops` and its operand to `planned`.
absl::Status appendBinary(const Step& step, size_t index, const std::vector<int64_t>& outputDims,
                          const dnnl::memory::desc* outputDesc, dnnl::post_ops& ops,
                          PlannedPostOps& planned) {
  const PostOp& op = step.postOps[index];
  GR_ASSIGN_OR_RETURN(dnnl::algorithm algorithm, binaryAlgorithm(op.kind));
  if (!op.operand) {
    return absl::InvalidArgumentError("binary post-op without an operand");
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
absl::Status appendEltwise(const Step& step, size_t index, dnnl::post_ops& ops) {
  const PostOp& op = step.postOps[index];
  GR_ASSIGN_OR_RETURN(dnnl::algorithm algorithm, eltwiseAlgorithm(op.algorithm));
  bool scaled = index + 1 < step.postOps.size() && onlyScales(step.postOps, index + 1);
  float scale = scaled ? step.postOps[index + 1].alpha : 1.0F;
  for (int i = 0; i < ops.len(); ++i) {
    dnnl::algorithm other = dnnl::algorithm::undef;
    float otherScale = 1, alpha = 0, beta = 0;
    if (ops.kind(i) == dnnl::primitive::kind::eltwise) {
      ops.get_params_eltwise(i, otherScale, other, alpha, beta);
    }
    // oneDNN 2.6 generates code for each algorithm once, with the parameters that come first.
    if (other == algorithm && (otherScale != scale || alpha != op.alpha || beta != op.beta)) {
      return absl::UnimplementedError(
          absl::StrCat(step.operation, ": ", op.algorithm, " twice, with other parameters"));
    }
  }
  ops.append_eltwise(scale, algorithm, op.alpha, op.beta);
  return absl::OkStatus();
}

/// Plans operands of post-ops that the kernel itself applies: they lie as the result does.
absl::Status planAfter(const Step& step, size_t first, const std::vector<int64_t>& outputDims,
                       const dnnl::memory::desc* outputDesc, PlannedPostOps& planned) {
  GR_ASSIGN_OR_RETURN(planned.after, AfterOps::make(step, first));
  for (size_t i = first; i < step.postOps.size(); ++i) {
    if (!step.postOps[i].operand) {
      continue;
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
    TensorDesc desc = step.postOps[i].operand->desc;
    bool open = desc.any;
    desc.any = false;
    GR_ASSIGN_OR_RETURN(PlannedOperand operand,
                        planOperand(desc, desc.layout.empty() ? outputDims : desc.dims));
    if (open && outputDesc != nullptr) {
      operand.desc = *outputDesc;
    } else if (outputDesc != nullptr && !sameDescriptor(operand.desc, *outputDesc)) {
      return absl::UnimplementedError("what is combined with the result lies in another layout");
    }
    planned.open = true;  // the result's layout is to be known
    planned.arguments.push_back(
        {kBehindPrimitive, {Operand::Role::kPostOp, i}, operand.desc, operand.source});
  }
  return absl::OkStatus();
}

}  // namespace

const TensorDesc& tensorOf(const Step& step, const Operand& operand) {
  return argumentOf(step, operand).desc;
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

absl::StatusOr<PlannedPostOps> planPostOps(const Step& step, const std::vector<int64_t>& outputDims,
                                           const dnnl::memory::desc* outputDesc) {
  PlannedPostOps planned;
  size_t own = std::min(AfterOps::firstOf(step), firstLosingUnseen(step));
  dnnl::post_ops ops;
  for (size_t i = 0; i < own; ++i) {
    const PostOp& op = step.postOps[i];
    if (op.kind == PostOpKind::kEltwise) {
      if (!onlyScales(step.postOps, i)) {
        GR_RETURN_IF_ERROR(appendEltwise(step, i, ops));
      }
    } else if (op.kind == PostOpKind::kSum) {
      ops.append_sum(1.0F);
    } else {
      GR_RETURN_IF_ERROR(appendBinary(step, i, outputDims, outputDesc, ops, planned));
    }
  }
  GR_RETURN_IF_ERROR(planAfter(step, own, outputDims, outputDesc, planned));
  GR_ASSIGN_OR_RETURN(auto scales, attributeOr(step, "scales", std::vector<double>()));
  if (!scales.empty()) {
    size_t channel = step.operation == "gr.conv" ? 1 : outputDims.size() - 1;
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

OneDnn::OneDnn() { KernelTeam::takesRegions(); }

namespace {

/// Chooses what the primitive alone wants.
absl::StatusOr<LayoutChoice> choosePlain(const Step& step, PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(
      absl::StatusOr<LayoutChoice> choice,
      guarded(step.operation, [&]() -> absl::StatusOr<LayoutChoice> {
        dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        GR_ASSIGN_OR_RETURN(PrimitivePlan planned, plan(step, engine));
        LayoutChoice result;
        for (const Argument& input : step.inputs) {
          result.inputs.push_back(input.desc);
          result.sources.push_back(TensorDesc{input.desc.type, input.desc.dims, {}, false});
        }
        for (const Argument& output : step.outputs) {
          result.outputs.push_back(output.desc);
        }
        result.postOps.resize(step.postOps.size());
        for (const PlannedArgument& argument : planned.arguments) {
          const TensorDesc& given = tensorOf(step, argument.operand);
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

absl::StatusOr<std::unique_ptr<Kernel>> createPlain(const Step& step, KernelContext& context,
                                                    PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(PrimitivePlan planned, guardedPlan(step, context.onednn.engine, plan));
  for (const PlannedArgument& argument : planned.arguments) {
    GR_RETURN_IF_ERROR(checkArgument(step, argument));
  }
  size_t scratch = planned.descriptor.scratchpad_desc().get_size();
  if (scratch > 0 && (!step.scratch || step.scratch->desc.spec().byteSize() < scratch)) {
    return absl::InvalidArgumentError(
        absl::StrCat(step.operation, ": needs ", scratch, " bytes of scratch memory, the step has ",
                     step.scratch ? step.scratch->desc.spec().byteSize() : 0));
  }
  return guarded(step.operation, [&]() -> std::unique_ptr<Kernel> {
    auto kernel = std::make_unique<PrimitiveKernel>(context.onednn, planned);
    for (const PlannedArgument& argument : planned.arguments) {
      kernel->bind(argument.id, argumentOf(step, argument.operand).buffer, argument.desc,
                   context.onednn.engine);
    }
    if (scratch > 0) {
      kernel->bind(DNNL_ARG_SCRATCHPAD, step.scratch->buffer, planned.descriptor.scratchpad_desc(),
                   context.onednn.engine);
    }
    return kernel;
  });
}

}  // namespace

absl::StatusOr<LayoutChoice> choosePrimitive(const Step& step, PlanFunction plan) {
  if (operationMayLoseNaN(step) && !canBeGuarded(step)) {
    return absl::UnimplementedError(absl::StrCat(step.operation, ": the library would lose NaN"));
  }
  return choosePlain(step, plan);
}

absl::StatusOr<std::unique_ptr<Kernel>> createPrimitive(const Step& step, KernelContext& context,
                                                        PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, createPlain(step, context, plan));
  return mayLoseNaN(step) && canBeGuarded(step)
             ? guardNaN(std::move(kernel), step, plan, context.onednn)
             : std::move(kernel);
}

absl::Status requireFloatStep(const Step& step, size_t inputs, size_t maxInputs) {
  if (step.inputs.size() < inputs || step.inputs.size() > maxInputs || step.outputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(step.operation, ": has ", step.inputs.size(),
                                                   " operands, expected ", inputs, " to ",
                                                   maxInputs, " and one result"));
  }
  auto good = [](const Argument& argument) {
    return argument.desc.type == runtime::ElementType::kF32 ||
           argument.desc.type == runtime::ElementType::kBF16;
  };
  if (!std::all_of(step.inputs.begin(), step.inputs.end(), good) || !good(step.outputs[0])) {
    return absl::UnimplementedError(
        absl::StrCat(step.operation, ": oneDNN kernels take f32 and bf16 only"));
  }
  return absl::OkStatus();
}

absl::Status requireProductStep(const Step& step) {
  using runtime::ElementType;
  bool quantized = step.inputs.size() >= 2 && step.outputs.size() == 1 &&
                   step.inputs[0].desc.type == ElementType::kU8 &&
                   step.inputs[1].desc.type == ElementType::kI8;
  if (!quantized) {
    return requireFloatStep(step, 2, 3);
  }
  // A bias would be added in f32, as post-operations compute.
  if (givesSums(step) && (step.inputs.size() > 2 || !step.postOps.empty())) {
    return absl::UnimplementedError(
        absl::StrCat(step.operation, ": oneDNN adds nothing to integer sums exactly"));
  }
  return sumsBytesExactly() ? absl::OkStatus()
                            : absl::UnimplementedError(absl::StrCat(
                                  step.operation, ": the machine has no exact sums of bytes"));
}

absl::Status requireNoPostOps(const Step& step) {
  if (!step.postOps.empty()) {
    return absl::UnimplementedError(absl::StrCat(step.operation, ": takes no post-ops"));
  }
  return absl::OkStatus();
}

absl::StatusOr<dnnl::algorithm> eltwiseAlgorithm(absl::string_view operation) {
  using dnnl::algorithm;
  static constexpr std::pair<absl::string_view, algorithm> kAlgorithms[] = {
      {"gr.relu", algorithm::eltwise_relu},  {"gr.leaky_relu", algorithm::eltwise_relu},
      {"gr.abs", algorithm::eltwise_abs},    {"gr.sqrt", algorithm::eltwise_sqrt},
      {"gr.clip", algorithm::eltwise_clip},  {"gr.round", algorithm::eltwise_round},
      {"linear", algorithm::eltwise_linear},
  };
  for (const auto& [name, value] : kAlgorithms) {
    if (name == operation) {
      return value;
    }
  }
  return absl::UnimplementedError(absl::StrCat("oneDNN has no post-op for ", operation));
}

}  // namespace graphrun::devices::cpu
