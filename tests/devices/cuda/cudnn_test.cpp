// Kernels through cuDNN over the simulator: what they compute is what the CPU's reference computes,
// in either layout; what they decline; engines, workspace and errors.
#include <algorithm>
#include <cstring>
#include <random>

#include "devices/cuda/cudnn/cudnn_byte_product.h"
#include "devices/cuda/cudnn/cudnn_library.h"
#include "tests/devices/cpu/nn_cases.h"
#include "tests/devices/cuda/cudnn_runner.h"

namespace graphrun::devices::cuda {
namespace {

/// A 3 x 3 convolution of 4 to 6 channels.
WindowCase small() {
  return {"gr.conv", {2, 4, 5, 6}, {6, 4, 3, 3}, {2, 6, 5, 6}, {}, {}, {}, {1, 1, 1, 1}};
}

HostTensor randomBytes(ElementType type, const Dims& dims, std::mt19937& random) {
  HostTensor tensor({type, dims});
  auto* bytes = static_cast<uint8_t*>(tensor.data());
  std::generate(bytes, bytes + tensor.byteSize(), [&] { return static_cast<uint8_t>(random()); });
  return tensor;
}

/// Sums of products of bytes are those that the reference computes, to the last bit.
void checkBytes(const Instruction& instruction) {
  std::mt19937 random(7);
  Tensors inputs;
  for (const Argument& input : instruction.inputs) {
    inputs.push_back(randomBytes(input.desc.type, input.desc.dims, random));
  }
  CudnnFixture gpu;
  CAPTURE(instruction.operation, inputs[0].spec().toString(), inputs[1].spec().toString());
  HostTensor result = runInstruction(gpu, instruction, inputs).value();
  Attributes attributes = instruction.attributes;
  attributes.erase("tf32");
  Tensors expected =
      cpu::runOperation(
          {instruction.operation, attributes, {instruction.outputs[0].desc.spec()}, {}}, inputs)
          .value();
  CHECK(std::memcmp(result.data(), expected[0].data(), result.byteSize()) == 0);
}

void checkBytes(WindowCase c) {
  c.ofBytes = c.channelsLast = true;
  checkBytes(instructionOf(c));
}

absl::Status whyDeclined(const WindowCase& c) {
  std::vector<Candidate> found = candidates(instructionOf(c));
  REQUIRE(found.size() == 1);
  return found[0].choice.status();
}

std::string message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace

TEST_CASE("cuDNN's convolutions and pools give what ONNX Runtime gives", "[cudnn]") {
  size_t ran = 0;
  for (const cpu::NnCase& c : cpu::kNnCases) {
    Instruction instruction;
    instruction.operation = instruction.label = c.operation;
    instruction.attributes = c.attributes;
    Tensors inputs;
    for (const auto& [dims, values] : c.inputs) {
      instruction.inputs.push_back({static_cast<uint32_t>(inputs.size()), f32(dims)});
      inputs.push_back(cpu::f32(dims, values));
    }
    instruction.outputs = {{static_cast<uint32_t>(inputs.size()), f32(c.outputDims)}};
    if (candidates(instruction).empty() || !candidates(instruction)[0].choice.ok()) {
      continue;
    }
    CudnnFixture gpu;
    CAPTURE(c.operation, c.outputDims, ran);
    HostTensor result = runInstruction(gpu, instruction, inputs).value();
    CHECK(cpu::distance(result, cpu::f32(c.outputDims, c.expected)) < 1e-4);
    ++ran;
  }
  CHECK(ran == 13);  // all but dilated pools, a bias behind a transposed one, counted overhangs
}

TEST_CASE("cuDNN's convolutions are what the reference computes", "[cudnn]") {
  check(small());
  check({"gr.conv", {1, 6, 7, 7}, {9, 2, 3, 3}, {1, 9, 3, 3}, {}, {2, 2}, {}, {}, 3});
  check({"gr.conv", {1, 5, 7, 7}, {5, 1, 3, 3}, {1, 5, 5, 5}, {}, {}, {}, {}, 5});
  check({"gr.conv", {1, 3, 9, 9}, {2, 3, 3, 3}, {1, 2, 5, 5}, {}, {}, {2, 2}});
  check({"gr.conv", {1, 3, 8, 8}, {2, 3, 3, 3}, {1, 2, 4, 4}, {}, {2, 2}, {}, {0, 0, 1, 1}});
  check({"gr.conv", {1, 3, 9, 9}, {2, 3, 3, 2}, {1, 2, 11, 9}, {}, {}, {}, {3, 0, 1, 1}});
  check({"gr.conv", {2, 3, 9}, {4, 3, 3}, {2, 4, 9}, {}, {}, {}, {1, 1}});
  check({"gr.conv", {1, 2, 4, 5, 6}, {3, 2, 2, 2, 2}, {1, 3, 3, 4, 5}});
}

TEST_CASE("cuDNN's transposed convolutions are what the reference computes", "[cudnn]") {
  check({"gr.conv_transpose",
         {1, 4, 5, 5},
         {4, 3, 4, 4},
         {1, 3, 10, 10},
         {},
         {2, 2},
         {},
         {1, 1, 1, 1}});
  check({"gr.conv_transpose", {2, 4, 5, 5}, {4, 2, 3, 3}, {2, 4, 11, 11}, {}, {2, 2}, {}, {}, 2});
  check({"gr.conv_transpose", {1, 4, 6}, {4, 3, 4}, {1, 3, 12}, {}, {2}, {}, {1, 1}});
  WindowCase extra = {
      "gr.conv_transpose", {1, 4, 5, 5}, {4, 3, 3, 3}, {1, 3, 10, 10}, {}, {2, 2}, {},
      {1, 1, 1, 1}};
  extra.attributes["output_padding"] = Dims{1, 1};
  check(extra);
}

TEST_CASE("cuDNN's convolutions take half types", "[cudnn]") {
  for (ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    WindowCase c = small();
    c.type = type;
    check(c);
    c.bias = true;
    c.postOps = {eltwise("gr.relu")};
    check(c);
  }
}

TEST_CASE("cuDNN's convolutions of bytes are exact", "[cudnn]") {
  checkBytes(small());
  checkBytes({"gr.conv", {1, 3, 9, 9}, {5, 3, 3, 3}, {1, 5, 4, 4}, {}, {2, 2}});
  checkBytes({"gr.conv", {1, 6, 7, 7}, {9, 2, 3, 3}, {1, 9, 7, 7}, {}, {}, {}, {1, 1, 1, 1}, 3});
  checkBytes({"gr.conv", {1, 5, 7, 7}, {5, 1, 3, 3}, {1, 5, 3, 3}, {}, {}, {2, 2}, {}, 5});
  checkBytes({"gr.conv", {2, 3, 9}, {4, 3, 3}, {2, 4, 9}, {}, {}, {}, {1, 1}});
  checkBytes({"gr.conv", {1, 2, 4, 5, 6}, {3, 2, 2, 2, 2}, {1, 3, 3, 4, 5}});
}

TEST_CASE("cuDNN's products of bytes are exact", "[cudnn]") {
  checkBytes(byteProduct({3, 5}, {7, 5}, {3, 7}));
  checkBytes(byteProduct({2, 3, 64}, {16, 64}, {2, 3, 16}));
  checkBytes(byteProduct({70}, {3, 70}, {3}));
  Instruction instruction = byteProduct({3, 5}, {5, 7}, {3, 7});
  instruction.attributes["transpose_rhs"] = false;
  instruction.inputs[1].desc = stridedDesc(ElementType::kI8, {5, 7}, {1, 5});
  checkBytes(instruction);
}

TEST_CASE("other products of bytes are declined with the reason", "[cudnn]") {
  auto why = [](const Instruction& instruction) {
    return message(chooseByteProduct(instruction).status());
  };
  Instruction instruction = byteProduct({3, 5}, {5, 7}, {3, 7});
  instruction.attributes["transpose_rhs"] = false;
  CHECK_THAT(why(instruction), Catch::Contains("want a second operand that lies transposed"));
  CHECK_THAT(why(byteProduct({2, 3, 5}, {2, 7, 5}, {2, 3, 7})), Catch::Contains("by one matrix"));
  CHECK_THAT(why(byteProduct({0, 5}, {7, 5}, {0, 7})), Catch::Contains("one of nothing"));
  instruction = byteProduct({3, 5}, {7, 5}, {3, 7});
  instruction.postOps = {eltwise("gr.relu")};
  CHECK_THAT(why(instruction), Catch::Contains("nothing goes into"));
  instruction = byteProduct({3, 5}, {7, 5}, {3, 8});
  CHECK(absl::IsInvalidArgument(chooseByteProduct(instruction).status()));
}

TEST_CASE("a bias, a tensor and relu are fused into a convolution in either layout", "[cudnn]") {
  WindowCase c = small();
  c.bias = true;
  check(c);
  c.postOps = {eltwise("gr.relu")};
  check(c);
  c.postOps = {binary(PostOpKind::kBinaryAdd, c.result), eltwise("gr.relu")};
  check(c);
}

TEST_CASE("with the channels last any function is fused into a convolution", "[cudnn]") {
  for (const char* name : {"gr.relu", "gr.gelu", "gelu_tanh", "gr.sigmoid", "gr.tanh",
                           "gr.softplus", "gr.abs", "gr.sqrt", "gr.exp", "gr.log"}) {
    WindowCase c = small();
    c.postOps = {eltwise(name)};
    check(c, {true});
  }
  WindowCase c = small();
  c.bias = true;
  for (PostOpKind kind : {PostOpKind::kBinaryAdd, PostOpKind::kBinaryMul, PostOpKind::kBinaryMax,
                          PostOpKind::kBinaryMin, PostOpKind::kBinarySub, PostOpKind::kBinaryDiv}) {
    c.postOps = {eltwise("gr.leaky_relu", 0.3F), binary(kind, {1, 6, 1, 1}), binary(kind, c.result),
                 eltwise("gr.elu", 0.7F), eltwise("gr.swish", 1.5F)};
    check(c, {true});
  }
  WindowCase back = {"gr.conv_transpose", {1, 4, 5, 5}, {4, 3, 2, 2}, {1, 3, 10, 10}, {}, {2, 2}};
  back.bias = true;
  back.postOps = {eltwise("gr.relu")};
  check(back, {true});
}

TEST_CASE("cuDNN's pools are what the reference computes", "[cudnn]") {
  for (std::string operation : {"gr.max_pool", "gr.avg_pool"}) {
    check({operation, {2, 3, 9, 8}, {}, {2, 3, 5, 4}, {3, 3}, {2, 2}, {}, {1, 1, 1, 1}});
    check({operation, {1, 3, 8}, {}, {1, 3, 4}, {2}, {2}});
    check({operation, {1, 2, 4, 4, 4}, {}, {1, 2, 2, 2, 2}, {2, 2, 2}, {2, 2, 2}});
    WindowCase rounded = {operation, {1, 2, 6, 6}, {}, {1, 2, 3, 3}, {3, 3}, {2, 2}};
    rounded.attributes["ceil_mode"] = true;
    check(rounded);
  }
  WindowCase counted = {"gr.avg_pool", {1, 2, 6, 6}, {}, {1, 2, 6, 6},
                        {3, 3},        {},           {}, {1, 1, 1, 1}};
  counted.attributes["count_include_pad"] = true;
  check(counted);
}

TEST_CASE("what cuDNN has no engine for is declined with the reason", "[cudnn]") {
  auto declines = [](const WindowCase& c, const char* why) {
    CHECK(absl::IsUnimplemented(whyDeclined(c)));
    CHECK_THAT(message(whyDeclined(c)), Catch::Contains(why));
  };
  WindowCase c = small();
  c.type = ElementType::kF64;
  declines(c, "are of f32, f16 or bf16");
  c = small();
  c.postOps = {eltwise("gr.relu")};
  declines(c, "more than a tensor, a bias and relu");
  c.bias = true;
  c.postOps = {eltwise("gr.tanh")};
  declines(c, "more than a tensor, a bias and relu");
  WindowCase grouped = {"gr.conv", {1, 4, 5, 5}, {4, 2, 3, 3}, {1, 4, 3, 3}, {}, {}, {}, {}, 2};
  grouped.channelsLast = true;
  grouped.type = ElementType::kBF16;
  grouped.postOps = {eltwise("gr.tanh")};
  declines(grouped, "more than a tensor, a bias and relu");
  c.channelsLast = true;
  c.postOps = {eltwise("gr.clip")};
  declines(c, "fuses no gr.clip");
  c.postOps = {{PostOpKind::kSum, "", 0, 0, {}}};
  declines(c, "what the result's memory holds");
  c = {"gr.conv_transpose", {1, 4, 5, 5}, {4, 3, 2, 2}, {1, 3, 10, 10}, {}, {2, 2}};
  c.bias = true;
  declines(c, "behind a transposed one");
  c = small();
  c.pads = {-1, 1, 3, 1};
  declines(c, "crops no input");
  c = small();
  c.ofBytes = true;
  declines(c, "want the channels last");
  c.channelsLast = true;
  c.postOps = {eltwise("gr.relu")};
  declines(c, "nothing goes into cuDNN's convolutions of bytes");
  Instruction mixed = instructionOf(small());
  WindowCase last = small();
  last.channelsLast = true;
  mixed.outputs = instructionOf(last).outputs;
  CHECK_THAT(message(candidates(mixed)[0].choice.status()), Catch::Contains("all tensors dense"));
  declines({"gr.max_pool", {1, 1, 6, 6}, {}, {1, 1, 4, 4}, {2, 2}, {}, {2, 2}}, "no dilations");
  WindowCase pool = {"gr.max_pool", {1, 1, 6, 6}, {}, {1, 1, 5, 5}, {2, 2}};
  pool.type = ElementType::kBF16;
  declines(pool, "pools are of f32 or f16");
}

TEST_CASE("a malformed convolution is refused", "[cudnn]") {
  auto refuses = [](const WindowCase& c, const char* why) {
    CHECK(absl::IsInvalidArgument(whyDeclined(c)));
    CHECK_THAT(message(whyDeclined(c)), Catch::Contains(why));
  };
  WindowCase c = small();
  c.result = {2, 6, 5, 5};
  refuses(c, "spatial dim 1 of the result is 5, expected 6");
  c = small();
  c.groups = 3;
  refuses(c, "the shapes of input, filter and result do not fit");
  c = small();
  c.groups = 0;
  refuses(c, "the shapes of input, filter and result do not fit");
  c = small();
  c.postOps = {binary(PostOpKind::kBinaryAdd, {2, 5, 5, 6})};
  refuses(c, "an operand of the epilogue does not fit the result");
  refuses({"gr.max_pool", {1, 2, 6, 6}, {}, {1, 1, 5, 5}, {2, 2}}, "do not fit");
}

TEST_CASE("room for another layout is asked for where the library wants another one", "[cudnn]") {
  auto scratch = [](bool channelsLast, bool tf32) {
    WindowCase c = small();
    c.channelsLast = channelsLast;
    c.tf32 = tf32;
    return candidates(instructionOf(c))[0].choice->scratchBytes;
  };
  uint64_t operands = sizeof(float) * (2 * 4 * 5 * 6 + 6 * 4 * 3 * 3 + 2 * 6 * 5 * 6);
  CHECK(scratch(false, false) == scratch(true, true));
  CHECK(scratch(false, true) == scratch(true, true) + operands);
  CHECK(scratch(true, false) == scratch(true, true) + operands);
}

TEST_CASE("exact f32 stays off tensor cores, and TF32 goes on them", "[cudnn]") {
  for (bool tf32 : {false, true}) {
    CudnnFixture gpu;
    WindowCase c = small();
    c.tf32 = tf32;
    Instruction instruction = instructionOf(c);
    REQUIRE(runInstruction(gpu, instruction, randomInputs(instruction)).ok());
    CHECK(testing::lastCudnnEngine() == (tf32 ? 10 : 11));
  }
}

TEST_CASE("a convolution and a pool are recorded into one graph and replayed", "[cudnn]") {
  CudnnFixture gpu;
  Instruction first = instructionOf(small());
  Executable e = compile(first).value();
  WindowCase c = {"gr.max_pool", {2, 6, 5, 6}, {}, {2, 6, 4, 5}, {2, 2}};
  Instruction second = instructionOf(c);
  // The convolution's result moves into the arena, and the pool's is the output.
  uint32_t between = first.outputs[0].buffer;
  uint64_t bytes = e.buffers[between].bytes;
  e.buffers[between] = bufferOf(BufferKind::kArena, bytes, 0, e.arenaBytes);
  e.arenaBytes += bytes;
  auto output = static_cast<uint32_t>(e.buffers.size());
  TensorDesc result = second.outputs[0].desc;
  e.buffers.push_back(bufferOf(BufferKind::kOutput, result.spec().byteSize()));
  second.kernel = "cudnn.max_pool";
  second.inputs[0].buffer = between;
  second.outputs[0].buffer = output;
  second.scratch = e.instructions[0].scratch;
  e.instructions.push_back(second);
  e.outputs[0] = {"result", output, result};
  ListedWeights none;
  auto program = load(gpu, e, none).value();
  Tensors inputs = randomInputs(first);
  HostTensor made(result.spec());
  program->buffers()[0] = inputs[0].data();
  program->buffers()[1] = inputs[1].data();
  program->buffers()[output] = made.data();
  Tensors middle;
  middle.push_back(reference(first, inputs));
  HostTensor expected = reference(instructionOf(c), middle);
  for (int run = 0; run < 3; ++run) {
    std::fill_n(static_cast<char*>(made.data()), made.byteSize(), 0);
    REQUIRE(runCompute(*program).ToString() == "OK");
    CHECK(cpu::distance(made, expected) < 1e-5);
  }
  CHECK(testing::gpuCounts().graphLaunches == 2);
}

TEST_CASE("engines that refuse, want too much or differ from run to run are passed over",
          "[cudnn]") {
  CudnnFixture gpu;
  Instruction instruction = instructionOf(small());
  testing::setCudnnEngines({{1, 0, {}, false, CUDNN_STATUS_NOT_SUPPORTED_SHAPE},
                            {2, int64_t{1} << 40},
                            {3, 0, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
                            {4, 0, {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}},
                            {5, 0, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}},
                            {6, 128, {}, true}});
  REQUIRE(runInstruction(gpu, instruction, randomInputs(instruction)).ok());
  CHECK(testing::lastCudnnEngine() == 6);
}

TEST_CASE("engines that transform tiles are passed over, in TF32 too", "[cudnn]") {
  CudnnFixture gpu;
  for (bool tf32 : {false, true}) {
    Instruction instruction = instructionOf(small());
    instruction.attributes["tf32"] = tf32;
    for (cudnnBackendNumericalNote_t note :
         {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
          CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13,
          CUDNN_NUMERICAL_NOTE_FFT}) {
      CAPTURE(tf32, note);
      testing::setCudnnEngines({{1, 0, {note}}, {2, 128, {}, true}});
      REQUIRE(runInstruction(gpu, instruction, randomInputs(instruction)).ok());
      CHECK(testing::lastCudnnEngine() == 2);
    }
  }
}

TEST_CASE("a convolution without an engine or without room is refused when it is loaded",
          "[cudnn]") {
  CudnnFixture gpu;
  ListedWeights none;
  Instruction instruction = instructionOf(small());
  instruction.kernel = "cudnn.conv";
  testing::setCudnnEngines({{1, 0, {}, false, CUDNN_STATUS_NOT_SUPPORTED_SHAPE}});
  absl::Status status = load(gpu, executableOf(instruction, 4096), none).status();
  CHECK(absl::IsUnimplemented(status));
  CHECK_THAT(message(status), Catch::Contains("gr.conv: cuDNN has no engine") &&
                                  Catch::Contains("with 4096 bytes to work in") &&
                                  Catch::Contains("the engine was told to refuse"));
  testing::setCudnnEngines({{1, 5000}});
  CHECK_THAT(message(load(gpu, executableOf(instruction, 4096), none).status()),
             Catch::Contains("an engine wants 5000 bytes to work in"));
  testing::setCudnnEngines({});
  status = load(gpu, executableOf(instruction, 0), none).status();
  CHECK(absl::IsUnimplemented(status));
  CHECK_THAT(message(status), Catch::Contains("names none at all: ") && Catch::Contains("NVRTC"));
}

TEST_CASE("errors of cuDNN name the call and the instruction", "[cudnn]") {
  CudnnFixture gpu;
  ListedWeights none;
  Instruction instruction = instructionOf(small());
  Executable executable = compile(instruction).value();
  testing::failCall("cudnnCreate", CUDA_ERROR_LAUNCH_FAILED);
  CHECK_THAT(message(load(gpu, executable, none).status()), Catch::Contains("cudnnCreate: "));
  testing::failCall("cudnnBackendFinalize", CUDA_ERROR_LAUNCH_FAILED);
  CHECK_THAT(message(load(gpu, executable, none).status()),
             Catch::Contains("gr.conv") && Catch::Contains("tensor: cudnnBackendFinalize: "));
  auto program = load(gpu, executable, none).value();
  testing::failCall("cudnnBackendExecute", CUDA_ERROR_LAUNCH_FAILED);
  std::vector<float> data(1000);
  std::fill(program->buffers().begin(), program->buffers().end(), data.data());
  CHECK_THAT(message(runCompute(*program)), Catch::Contains("gr.conv: cudnnBackendExecute: "));
}

TEST_CASE("without cuDNN a program of convolutions is refused with how to get it", "[cudnn]") {
  testing::resetGpus();
  LibraryFiles files = simulatedFiles();
  files.cudnn = "libnone.so.9";
  Libraries libraries(files);
  auto device = createCudaDevice({"test/cuda:0", "cuda", 0, {}, 0, 0}, libraries).value();
  Executable executable = compile(instructionOf(small())).value();
  executable.fingerprint = device->fingerprint();
  ListedWeights none;
  std::vector<uint8_t> bytes = writeExecutable(executable);
  absl::Status status = device->load(bytes, none).status();
  CHECK(absl::IsNotFound(status));
  CHECK_THAT(message(status), Catch::Contains("libnone.so.9 is missing") &&
                                  Catch::Contains("install cuDNN 9 for CUDA 13"));
}

}  // namespace graphrun::devices::cuda
