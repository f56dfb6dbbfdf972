#include "devices/cpu/onednn/exact_kernel.h"

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/base/simple_kernels.h"
#include "devices/cpu/onednn/nan_guard.h"
#include "devices/cpu/onednn/onednn_kernels.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

TensorDesc denseLike(const TensorDesc& desc) { return {desc.type, desc.dims}; }

/// Attributes of the gr operation that an element-wise post-op is.
Attributes attributesOf(const PostOp& op) {
  auto alpha = static_cast<double>(op.alpha);
  auto beta = static_cast<double>(op.beta);
  if (op.algorithm == "gr.clip") {
    return {{"low", alpha}, {"high", beta}};
  }
  if (op.algorithm == "gelu_tanh") {
    return {{"approximate", true}};
  }
  bool scaled =
      op.algorithm == "gr.leaky_relu" || op.algorithm == "gr.elu" || op.algorithm == "gr.swish";
  return scaled ? Attributes{{"alpha", alpha}} : Attributes{};
}

std::string operationOf(const PostOp& op) {
  switch (op.kind) {
#define GR_ARITHMETIC(Class, name, builder, flops, onnx, since, neutral) \
  case PostOpKind::kBinary##Class:                                       \
    return "gr." #name;
#include "devices/functions/elementwise.def"
    default:
      return op.algorithm == "gelu_tanh" ? "gr.gelu" : op.algorithm;
  }
}

/// alpha * x + beta, which is no operation of its own.
std::unique_ptr<Kernel> linearKernel(const PostOp& op, const Argument& from, const Argument& to) {
  int64_t count = countOf(from.desc.dims);
  return makeKernel([=, alpha = op.alpha, beta = op.beta](void* const* buffers) {
    const auto* x = static_cast<const float*>(buffers[from.buffer]);
    auto* y = static_cast<float*>(buffers[to.buffer]);
    parallelRanges(count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[i] = alpha * x[i] + beta;
      }
    });
    return 0;
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExactKernel>> ExactKernel::make(const Instruction& instruction,
                                                               PlanFunction plan,
                                                               const OneDnn& onednn) {
  std::unique_ptr<ExactKernel> exact(new ExactKernel(onednn));
  Argument result = exact->given(instruction.outputs[0]);
  Argument value;
  size_t next = 0;
  if (isProduct(instruction)) {
    GR_RETURN_IF_ERROR(exact->addProduct(instruction, plan, result));
    GR_ASSIGN_OR_RETURN(value, exact->dense(result));
    next = firstLosingNaN(instruction);
  } else {
    GR_ASSIGN_OR_RETURN(std::vector<Argument> values, exact->addOperation(instruction, plan));
    for (size_t i = 1; i < values.size(); ++i) {  // post-ops are of the first one
      GR_RETURN_IF_ERROR(exact->move(values[i], exact->given(instruction.outputs[i])));
    }
    value = values[0];
  }
  GR_ASSIGN_OR_RETURN(value, exact->converted(value, ElementType::kF32));
  for (; next < instruction.postOps.size(); ++next) {
    GR_ASSIGN_OR_RETURN(value, exact->addPostOp(instruction.postOps[next], value));
  }
  GR_ASSIGN_OR_RETURN(value, exact->converted(value, result.desc.type));
  GR_RETURN_IF_ERROR(exact->move(value, result));
  return exact;
}

int ExactKernel::run(void* const* buffers) {
  for (const Given& given : given_) {
    table_[given.mine] = buffers[given.theirs];
  }
  for (const std::unique_ptr<Kernel>& kernel : kernels_) {
    if (int code = kernel->run(table_.data()); code != 0) {
      failed_ = kernel.get();
      return code;
    }
  }
  return 0;
}

absl::Status ExactKernel::errorMessage(int code) const {
  return failed_ != nullptr ? failed_->errorMessage(code) : Kernel::errorMessage(code);
}

Argument ExactKernel::given(const Argument& argument) {
  auto mine = static_cast<uint32_t>(table_.size());
  given_.push_back({mine, argument.buffer});
  table_.push_back(nullptr);
  return {mine, argument.desc};
}

absl::StatusOr<Argument> ExactKernel::temporary(TensorDesc desc) {
  GR_ASSIGN_OR_RETURN(uint64_t bytes, layoutBytes(desc));
  GR_ASSIGN_OR_RETURN(Memory memory, allocateMemory(bytes));
  auto mine = static_cast<uint32_t>(table_.size());
  table_.push_back(memory.get());
  memory_.push_back(std::move(memory));
  return Argument{mine, std::move(desc)};
}

absl::Status ExactKernel::add(const KernelEntry& entry, Instruction instruction) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, entry.choose(instruction));
  if (choice.scratchBytes > 0) {
    TensorDesc scratch{ElementType::kU8, {static_cast<int64_t>(choice.scratchBytes)}};
    GR_ASSIGN_OR_RETURN(instruction.scratch, temporary(std::move(scratch)));
  }
  KernelContext context{onednn_};
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, entry.create(instruction, context));
  kernels_.push_back(std::move(kernel));
  return absl::OkStatus();
}

absl::Status ExactKernel::addReference(const std::string& operation, Attributes attributes,
                                       std::vector<Argument> inputs,
                                       std::vector<Argument> outputs) {
  Instruction instruction;
  instruction.operation = operation;
  instruction.attributes = std::move(attributes);
  instruction.inputs = std::move(inputs);
  instruction.outputs = std::move(outputs);
  return add({"reference", chooseReference, createReference}, std::move(instruction));
}

absl::Status ExactKernel::addProduct(const Instruction& instruction, PlanFunction plan,
                                     const Argument& result) {
  Instruction product = instruction;
  product.postOps.resize(firstLosingNaN(instruction));
  product.outputs = {result};
  for (Argument& input : product.inputs) {
    input = given(input);
  }
  for (PostOp& op : product.postOps) {
    if (op.operand) {
      op.operand = given(*op.operand);
    }
  }
  product.scratch.reset();
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, choosePrimitive(product, plan));
  if (choice.scratchBytes > 0) {
    TensorDesc scratch{ElementType::kU8, {static_cast<int64_t>(choice.scratchBytes)}};
    GR_ASSIGN_OR_RETURN(product.scratch, temporary(std::move(scratch)));
  }
  KernelContext context{onednn_};
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, createPrimitive(product, context, plan));
  kernels_.push_back(std::move(kernel));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Argument>> ExactKernel::addOperation(const Instruction& instruction,
                                                                PlanFunction plan) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, choosePrimitive(instruction, plan));
  std::vector<Argument> inputs, results;
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    bool packed = instruction.operation == "gr.recurrent" && choice.sources[i].dims.size() == 5;
    Argument input = given(instruction.inputs[i]);
    GR_ASSIGN_OR_RETURN(inputs.emplace_back(),
                        packed ? matrixOfGates(input, choice.sources[i]) : dense(input));
  }
  for (const Argument& output : instruction.outputs) {
    GR_ASSIGN_OR_RETURN(results.emplace_back(), temporary(denseLike(output.desc)));
  }
  GR_RETURN_IF_ERROR(
      addReference(instruction.operation, instruction.attributes, std::move(inputs), results));
  return results;
}

absl::StatusOr<Argument> ExactKernel::dense(const Argument& argument) {
  if (isDense(argument.desc)) {
    return Argument{argument.buffer, denseLike(argument.desc)};
  }
  GR_ASSIGN_OR_RETURN(Argument copy, temporary(denseLike(argument.desc)));
  GR_RETURN_IF_ERROR(move(argument, copy));
  return copy;
}

absl::StatusOr<Argument> ExactKernel::matrixOfGates(const Argument& weights,
                                                    const TensorDesc& source) {
  GR_ASSIGN_OR_RETURN(Argument copy, temporary(source));
  GR_RETURN_IF_ERROR(move(weights, copy));
  copy.desc = {source.type, {source.dims[3] * source.dims[4], source.dims[2]}};
  return copy;
}

absl::StatusOr<Argument> ExactKernel::converted(const Argument& argument, ElementType type) {
  if (argument.desc.type == type) {
    return argument;
  }
  GR_ASSIGN_OR_RETURN(Argument copy, temporary({type, argument.desc.dims}));
  GR_RETURN_IF_ERROR(addReference("gr.cast", {}, {argument}, {copy}));
  return copy;
}

absl::Status ExactKernel::move(const Argument& from, const Argument& to) {
  if (from.buffer == to.buffer) {
    return absl::OkStatus();
  }
  Instruction instruction;
  instruction.operation = "reorder";
  instruction.inputs = {from};
  instruction.outputs = {to};
  if (isDense(to.desc)) {
    instruction.outputs[0].desc = denseLike(to.desc);
  }
  if (isDense(from.desc) && isDense(to.desc)) {
    return add({"copy", chooseCopy, createCopy}, std::move(instruction));
  }
  return add({"onednn.reorder", chooseWith<planReorder>, createWith<planReorder>},
             std::move(instruction));
}

absl::StatusOr<Argument> ExactKernel::addPostOp(const PostOp& op, const Argument& value) {
  GR_ASSIGN_OR_RETURN(Argument result, temporary(value.desc));
  if (op.algorithm == "linear") {
    kernels_.push_back(linearKernel(op, value, result));
    return result;
  }
  std::vector<Argument> inputs = {value};
  if (op.operand) {
    GR_ASSIGN_OR_RETURN(Argument other, dense(given(*op.operand)));
    GR_ASSIGN_OR_RETURN(inputs.emplace_back(), converted(other, ElementType::kF32));
  }
  GR_RETURN_IF_ERROR(addReference(operationOf(op), attributesOf(op), std::move(inputs), {result}));
  return result;
}

}  // namespace graphrun::devices::cpu
