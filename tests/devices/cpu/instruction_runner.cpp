#include "tests/devices/cpu/instruction_runner.h"

#include <cmath>
#include <limits>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "devices/cpu/vectors/element.h"

namespace graphrun::devices::cpu {
namespace {

/// Grows an executable step by step.
struct Builder {
  Executable executable;

  uint32_t addBuffer(Buffer buffer) {
    executable.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(executable.buffers.size() - 1);
  }
  uint32_t addArena(uint64_t bytes) {
    Buffer buffer;
    buffer.offset = executable.arenaBytes;
    buffer.bytes = bytes;
    executable.arenaBytes += runtime::alignTensor(bytes);
    return addBuffer(std::move(buffer));
  }
  uint32_t addEndpoint(BufferKind kind, const TensorSpec& spec) {
    auto& list = kind == BufferKind::kInput ? executable.inputs : executable.outputs;
    Buffer buffer;
    buffer.kind = kind;
    buffer.index = static_cast<uint32_t>(list.size());
    buffer.bytes = spec.byteSize();
    uint32_t index = addBuffer(std::move(buffer));
    list.push_back({absl::StrCat("t", index), index, TensorDesc{spec.type, spec.dims, {}}});
    return index;
  }
  /// Puts a reorder between two layouts of one tensor.
  void addReorder(Argument from, Argument to) {
    Instruction instruction;
    bool plain = from.desc.layout.empty() && to.desc.layout.empty();
    instruction.operation = "reorder";
    instruction.label = "reorder";
    instruction.inputs = {std::move(from)};
    instruction.outputs = {std::move(to)};
    absl::StatusOr<Candidate> best = bestCandidate(instruction);
    instruction.kernel = plain || !best.ok() ? "copy" : std::string(best->kernel->name);
    executable.instructions.push_back(std::move(instruction));
  }
};

TensorDesc dense(const TensorSpec& spec) { return {spec.type, spec.dims, {}, false}; }

absl::StatusOr<Argument> inputArgument(Builder& b, const HostTensor& tensor, TensorDesc wanted,
                                       const TensorDesc& source, bool weight) {
  GR_ASSIGN_OR_RETURN(uint64_t bytes, layoutBytes(wanted));
  if (weight) {
    Buffer buffer;
    buffer.kind = BufferKind::kConstant;
    buffer.bytes = bytes;
    buffer.desc = wanted;
    buffer.source = source;
    const auto* data = static_cast<const uint8_t*>(tensor.data());
    buffer.data.assign(data, data + tensor.byteSize());
    return Argument{b.addBuffer(std::move(buffer)), wanted};
  }
  uint32_t input = b.addEndpoint(BufferKind::kInput, tensor.spec());
  if (wanted.layout.empty()) {
    return Argument{input, wanted};
  }
  Argument reordered{b.addArena(bytes), wanted};
  b.addReorder({input, dense(tensor.spec())}, reordered);
  return reordered;
}

/// The instruction with dense or open operands, to ask the kernel with.
Instruction askingInstruction(const Operation& operation, const Tensors& inputs,
                              const RunOptions& options) {
  Instruction instruction;
  instruction.kernel = options.kernel;
  instruction.operation = operation.name;
  instruction.label = operation.name;
  instruction.attributes = operation.attributes;
  instruction.postOps = operation.postOps;
  size_t operands = inputs.size();
  for (PostOp& op : instruction.postOps) {
    operands -= op.kind == PostOpKind::kEltwise ? 0 : 1;
  }
  size_t next = operands;
  for (PostOp& op : instruction.postOps) {
    if (op.kind != PostOpKind::kEltwise) {
      op.operand = Argument{0, dense(inputs[next++].spec())};
      op.operand->desc.any = options.open;
    }
  }
  for (size_t i = 0; i < operands; ++i) {
    TensorDesc desc = dense(inputs[i].spec());
    desc.any = options.open || (options.openWeights && options.weights.contains(i));
    instruction.inputs.push_back({0, i < options.layouts.size() ? options.layouts[i] : desc});
  }
  for (const TensorSpec& output : operation.outputs) {
    TensorDesc desc = dense(output);
    desc.any = options.open;
    instruction.outputs.push_back({0, desc});
  }
  return instruction;
}

/// Operands of post-ops: what sum adds is put into the result first.
absl::Status addPostOps(Builder& b, Instruction& instruction, const LayoutChoice& choice,
                        const Tensors& inputs) {
  size_t next = instruction.inputs.size();
  for (size_t i = 0; i < instruction.postOps.size(); ++i) {
    PostOp& op = instruction.postOps[i];
    if (op.kind == PostOpKind::kEltwise) {
      continue;
    }
    const HostTensor& tensor = inputs[next++];
    if (op.kind == PostOpKind::kSum) {
      uint32_t input = b.addEndpoint(BufferKind::kInput, tensor.spec());
      b.addReorder({input, dense(tensor.spec())}, instruction.outputs[0]);
      op.operand.reset();
      continue;
    }
    GR_ASSIGN_OR_RETURN(*op.operand, inputArgument(b, tensor, choice.postOps[i], {}, false));
  }
  return absl::OkStatus();
}

}  // namespace

HostTensor tensor(ElementType type, Dims dims, const std::vector<double>& values) {
  HostTensor result(TensorSpec{type, std::move(dims)});
  dispatchElement(type, [&]<typename T>() {
    for (size_t i = 0; i < values.size(); ++i) {
      static_cast<T*>(result.data())[i] = store<T>(convert<Compute<T>>(values[i]));
    }
  });
  return result;
}

std::vector<double> values(const HostTensor& tensor) {
  std::vector<double> result(static_cast<size_t>(tensor.spec().elementCount()));
  dispatchElement(tensor.spec().type, [&]<typename T>() {
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<double>(load(static_cast<const T*>(tensor.data())[i]));
    }
  });
  return result;
}

HostTensor randomTensor(Dims dims, std::mt19937& random, double low, double high) {
  HostTensor result(TensorSpec{ElementType::kF32, std::move(dims)});
  std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
  for (float& x : result.as<float>()) {
    x = uniform(random);
  }
  return result;
}

absl::StatusOr<Weight> TestWeights::weight(uint32_t index) {
  if (index >= list.size()) {
    return absl::NotFoundError(absl::StrCat("no weight ", index));
  }
  return Weight{list[index], owner};
}

CpuDevice& testDevice() {
  static CpuDevice device({"test/cpu:0", "cpu", 0, {}, 0});
  return device;
}

absl::StatusOr<Tensors> runExecutable(const Executable& executable, const Tensors& inputs,
                                      int runs) {
  GR_RETURN_IF_ERROR(testDevice().attachThread());
  std::vector<uint8_t> bytes = writeExecutable(executable);
  TestWeights weights;
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Program> program, testDevice().load(bytes, weights));
  Tensors outputs;
  for (size_t i = 0; i < program->inputs().size(); ++i) {
    program->buffers()[program->inputs()[i].buffer] = const_cast<void*>(inputs[i].data());
  }
  for (const Binding& output : program->outputs()) {
    outputs.emplace_back(output.spec);
    program->buffers()[output.buffer] = outputs.back().data();
  }
  for (int run = 0; run < runs; ++run) {
    for (const OpRecord& record : program->records()) {
      if (int code = record.run(record.state, program->buffers().data()); code != 0) {
        return program->errorMessage(record, code);
      }
    }
  }
  return outputs;
}

absl::StatusOr<Executable> makeExecutable(const Operation& operation, const Tensors& inputs,
                                          const RunOptions& options) {
  Instruction instruction = askingInstruction(operation, inputs, options);
  const KernelEntry* entry = findKernel(options.kernel);
  ScopedThreads threads(testDevice().threads());
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, entry->choose(instruction));
  Builder b;
  b.executable.fingerprint = testDevice().fingerprint();
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    GR_ASSIGN_OR_RETURN(instruction.inputs[i],
                        inputArgument(b, inputs[i], choice.inputs[i], choice.sources[i],
                                      options.weights.contains(i)));
  }
  for (size_t i = 0; i < instruction.outputs.size(); ++i) {
    GR_ASSIGN_OR_RETURN(uint64_t bytes, layoutBytes(choice.outputs[i]));
    instruction.outputs[i] = {b.addArena(bytes), choice.outputs[i]};
  }
  GR_RETURN_IF_ERROR(addPostOps(b, instruction, choice, inputs));
  if (choice.scratchBytes > 0) {
    instruction.scratch =
        Argument{b.addArena(choice.scratchBytes),
                 {ElementType::kU8, {static_cast<int64_t>(choice.scratchBytes)}, {}}};
  }
  b.executable.instructions.push_back(instruction);
  for (size_t i = 0; i < instruction.outputs.size(); ++i) {
    uint32_t output = b.addEndpoint(BufferKind::kOutput, operation.outputs[i]);
    b.addReorder(instruction.outputs[i], {output, dense(operation.outputs[i])});
  }
  return b.executable;
}

absl::StatusOr<Tensors> runOperation(const Operation& operation, const Tensors& inputs,
                                     const RunOptions& options) {
  GR_ASSIGN_OR_RETURN(Executable executable, makeExecutable(operation, inputs, options));
  Tensors bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!options.weights.contains(i)) {
      bound.push_back(inputs[i].clone());
    }
  }
  return runExecutable(executable, bound);
}

double distance(const HostTensor& a, const HostTensor& b) {
  if (!(a.spec() == b.spec())) {
    return std::numeric_limits<double>::infinity();
  }
  std::vector<double> x = values(a);
  std::vector<double> y = values(b);
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double difference = std::fabs(x[i] - y[i]) / (1 + std::fabs(y[i]));
    largest = std::isnan(difference) && !(std::isnan(x[i]) && std::isnan(y[i]))
                  ? std::numeric_limits<double>::infinity()
                  : std::max(largest, std::isnan(difference) ? 0 : difference);
  }
  return largest;
}

double normDistance(const HostTensor& a, const HostTensor& b) {
  if (!(a.spec() == b.spec())) {
    return std::numeric_limits<double>::infinity();
  }
  std::vector<double> x = values(a);
  std::vector<double> y = values(b);
  double errors = 0;
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    errors += (x[i] - y[i]) * (x[i] - y[i]);
    sum += y[i] * y[i];
  }
  return errors == 0             ? 0
         : std::isfinite(errors) ? std::sqrt(errors / sum)
                                 : std::numeric_limits<double>::infinity();
}

}  // namespace graphrun::devices::cpu
