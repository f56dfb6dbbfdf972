// Runs instructions of cuDNN's kernels on the simulator, and the same on the CPU, for tests.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_CUDNN_RUNNER_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_CUDNN_RUNNER_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "devices/cuda/program/kernel_list.h"
#include "devices/cuda/program/shared_weights.h"
#include "tests/devices/cpu/instruction_runner.h"
#include "tests/devices/cuda/cudnn_instructions.h"
#include "tests/devices/cuda/gpu_fixture.h"
#include "tests/devices/cuda/simulator/cudnn_simulator.h"

namespace graphrun::devices::cuda {

using cpu::Tensors;
using runtime::ElementType;
using runtime::HostTensor;

/// A simulated GPU whose cuDNN has its usual engines.
struct CudnnFixture : GpuFixture {
  CudnnFixture() { testing::setCudnnEngines(testing::usualCudnnEngines()); }
};

/// `bytes`, which lie as `from`, as `to`: another layout of the same tensor.
inline std::vector<uint8_t> relay(absl::Span<const uint8_t> bytes, const TensorDesc& from,
                                  const TensorDesc& to) {
  Buffer buffer = bufferOf(BufferKind::kConstant, layoutBytes(to).value());
  buffer.desc = to;
  buffer.source = from;
  return layOut(buffer, bytes).value();
}

inline absl::Span<const uint8_t> bytesOf(const HostTensor& tensor) {
  return {static_cast<const uint8_t*>(tensor.data()), tensor.byteSize()};
}

inline TensorDesc dense(const TensorDesc& desc) { return {desc.type, desc.dims, {}, false}; }

/// The arguments of an instruction: inputs, operands of post-ops, the result.
inline std::vector<Argument> argumentsOf(const Instruction& instruction) {
  std::vector<Argument> arguments = instruction.inputs;
  for (const PostOp& post : instruction.postOps) {
    if (post.operand) {
      arguments.push_back(*post.operand);
    }
  }
  arguments.push_back(instruction.outputs[0]);
  return arguments;
}

/// The executable of one instruction that has its kernel, with this much to work in.
inline Executable executableOf(Instruction instruction, uint64_t scratch) {
  Executable e;
  std::vector<Argument> arguments = argumentsOf(instruction);
  e.buffers.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool isResult = i + 1 == arguments.size();
    uint64_t bytes = layoutBytes(arguments[i].desc).value();
    e.buffers[arguments[i].buffer] = bufferOf(isResult ? BufferKind::kOutput : BufferKind::kInput,
                                              bytes, isResult ? 0 : static_cast<uint32_t>(i));
    // Ends are dense: seen as rows of bytes, they may be anything.
    TensorDesc row{ElementType::kU8, {static_cast<int64_t>(bytes)}, {}, false};
    (isResult ? e.outputs : e.inputs).push_back({absl::StrCat(i), arguments[i].buffer, row});
  }
  if (scratch > 0) {
    instruction.scratch = Argument{static_cast<uint32_t>(arguments.size()),
                                   {ElementType::kU8, {static_cast<int64_t>(scratch)}, {}, false}};
    e.buffers.push_back(bufferOf(BufferKind::kArena, scratch));
    e.arenaBytes = scratch;
  }
  e.instructions = {std::move(instruction)};
  return e;
}

/// The instruction with the kernel that takes it, and its scratch memory.
inline absl::StatusOr<Executable> compile(Instruction instruction) {
  std::vector<Candidate> found = candidates(instruction);
  REQUIRE(!found.empty());
  const Candidate& last = found.back();  // cuDNN's, where there are several
  GR_RETURN_IF_ERROR(last.choice.status());
  instruction.kernel = std::string(last.kernel->name);
  return executableOf(std::move(instruction), last.choice->scratchBytes);
}

/// Runs an instruction on dense tensors: its inputs, then the operands of its post-ops.
inline absl::StatusOr<HostTensor> runInstruction(GpuFixture& gpu, const Instruction& instruction,
                                                 const Tensors& inputs) {
  GR_ASSIGN_OR_RETURN(Executable executable, compile(instruction));
  ListedWeights none;
  GR_ASSIGN_OR_RETURN(auto program, load(gpu, executable, none));
  std::vector<Argument> arguments = argumentsOf(instruction);
  std::vector<std::vector<uint8_t>> memory;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorDesc& desc = arguments[i].desc;
    memory.push_back(i < inputs.size() ? relay(bytesOf(inputs[i]), dense(desc), desc)
                                       : std::vector<uint8_t>(layoutBytes(desc).value()));
    program->buffers()[arguments[i].buffer] = memory.back().data();
  }
  GR_RETURN_IF_ERROR(runCompute(*program));
  const TensorDesc& result = arguments.back().desc;
  HostTensor made(result.spec());
  std::vector<uint8_t> bytes = relay(memory.back(), result, dense(result));
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(made.data()));
  return made;
}

/// The same on the CPU, by its reference, in f32: the operation, then each post-op.
inline HostTensor reference(const Instruction& instruction, const Tensors& inputs) {
  Tensors operands;
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    operands.push_back(inputs[i].clone());
  }
  Attributes attributes = instruction.attributes;
  attributes.erase("tf32");
  runtime::TensorSpec spec{ElementType::kF32, instruction.outputs[0].desc.dims};
  auto run = [&](const std::string& name, const Attributes& its) {
    Tensors results = cpu::runOperation({name, its, {spec}, {}}, operands).value();
    operands.clear();
    operands.push_back(std::move(results[0]));
  };
  run(instruction.operation, attributes);
  size_t next = instruction.inputs.size();
  for (const PostOp& post : instruction.postOps) {
    constexpr const char* kBinary[] = {"",       "",       "gr.add", "gr.mul",
                                       "gr.max", "gr.min", "gr.sub", "gr.div"};
    if (post.operand) {
      operands.push_back(inputs[next++].clone());
      run(kBinary[static_cast<size_t>(post.kind)], {});
    } else if (post.algorithm == "gelu_tanh") {
      run("gr.gelu", {{"approximate", true}});
    } else {
      run(post.algorithm, {{"alpha", static_cast<double>(post.alpha)}});
    }
  }
  return std::move(operands[0]);
}

inline Tensors randomInputs(const Instruction& instruction) {
  std::mt19937 random(5);
  std::vector<Argument> arguments = argumentsOf(instruction);
  Tensors tensors;
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    HostTensor values = cpu::randomTensor(arguments[i].desc.dims, random, 0.1, 1);
    tensors.push_back(
        cpu::tensor(arguments[i].desc.type, arguments[i].desc.dims, cpu::values(values)));
  }
  return tensors;
}

/// The instruction on the simulator against the same on the CPU in f32: element by element, of bf16
/// by a norm.
inline void checkInstruction(const Instruction& instruction) {
  CudnnFixture gpu;
  Tensors inputs = randomInputs(instruction);
  absl::StatusOr<HostTensor> result = runInstruction(gpu, instruction, inputs);
  INFO(result.status());
  REQUIRE(result.ok());
  Tensors exact;
  for (const HostTensor& input : inputs) {
    exact.push_back(cpu::f32(input.spec().dims, cpu::values(input)));
  }
  HostTensor made = cpu::f32(result->spec().dims, cpu::values(*result));
  HostTensor expected = reference(instruction, exact);
  ElementType type = result->spec().type;
  if (type == ElementType::kBF16) {
    CHECK(cpu::normDistance(made, expected) <= cpu::kBFloat16Norm);
  } else {
    CHECK(cpu::distance(made, expected) < (type == ElementType::kF16 ? 2e-3 : 1e-5));
  }
}

/// In both layouts, or in that which the case says, against the reference.
inline void check(WindowCase c, const std::vector<bool>& layouts = {false, true}) {
  for (bool channelsLast : layouts) {
    c.channelsLast = channelsLast;
    CAPTURE(c.operation, c.input, c.filter, channelsLast, runtime::elementTypeName(c.type));
    checkInstruction(instructionOf(c));
  }
}

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_CUDNN_RUNNER_H_
