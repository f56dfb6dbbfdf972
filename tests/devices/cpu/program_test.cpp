// Programs of several instructions: generated code, edges, weights, limits, and the cost of a step.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "devices/cpu/runtime/kernel_list.h"
#include "devices/executable/kernel_refusals.h"
#include "runtime/base/clock.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

std::vector<uint8_t> readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Buffer buffer(BufferKind kind, uint64_t bytes, uint32_t index = 0, uint64_t offset = 0) {
  Buffer b;
  b.kind = kind;
  b.bytes = bytes;
  b.index = index;
  b.offset = offset;
  return b;
}

TensorDesc desc(Dims dims) { return {ElementType::kF32, std::move(dims), {}, false}; }

Instruction compute(std::string kernel, std::string operation, std::vector<Argument> inputs,
                    Argument output) {
  Instruction instruction;
  instruction.kernel = std::move(kernel);
  instruction.operation = instruction.label = std::move(operation);
  instruction.inputs = std::move(inputs);
  instruction.outputs = {std::move(output)};
  return instruction;
}

Executable empty() {
  Executable e;
  e.fingerprint = testDevice().fingerprint();
  return e;
}

/// out = x + y by generated code, 1000 rows of 8.
Executable generatedAdd() {
  Executable e = empty();
  uint64_t bytes = 8000 * 4;
  e.buffers = {buffer(BufferKind::kInput, bytes, 0), buffer(BufferKind::kInput, bytes, 1),
               buffer(BufferKind::kOutput, bytes, 0)};
  TensorDesc rows = desc({1000, 8});
  Instruction instruction = compute("generated", "gr.group", {{0, rows}, {1, rows}}, {2, rows});
  instruction.symbol = "add_rows";
  instruction.extent = 1000;
  instruction.grain = 10;
  e.instructions = {instruction};
  e.inputs = {{"x", 0, rows}, {"y", 1, rows}};
  e.outputs = {{"z", 2, rows}};
  e.code = readFile(TEST_KERNELS);
  return e;
}

}  // namespace

TEST_CASE("generated code is loaded from memory and split over threads") {
  std::mt19937 random(1);
  Tensors inputs;
  inputs.push_back(randomTensor({1000, 8}, random));
  inputs.push_back(randomTensor({1000, 8}, random));
  auto got = runExecutable(generatedAdd(), inputs);
  INFO(got.status());
  REQUIRE(got.ok());
  for (size_t i = 0; i < 8000; ++i) {
    REQUIRE((*got)[0].as<float>()[i] == inputs[0].as<float>()[i] + inputs[1].as<float>()[i]);
  }
}

TEST_CASE("an instruction takes the threads of the device, or as many as it says") {
  Tensors inputs;
  inputs.push_back(f32({1000, 8}, std::vector<double>(8000, 1)));
  inputs.push_back(f32({1000, 8}, std::vector<double>(8000, 1)));
  Executable executable = generatedAdd();
  executable.instructions[0].symbol = "first_rows";
  for (uint32_t threads : {0U, 1U}) {
    executable.instructions[0].threads = threads;
    auto got = runExecutable(executable, inputs);
    REQUIRE(got.ok());
    auto elements = (*got)[0].as<float>();
    std::set<float> begins(elements.begin(), elements.end());
    CHECK(begins.size() == (threads == 1 ? 1 : static_cast<size_t>(testDevice().threads())));
  }
}

TEST_CASE("damaged and missing code is refused") {
  TestWeights weights;
  auto load = [&](const Executable& e) {
    std::vector<uint8_t> bytes = writeExecutable(e);
    return testDevice().load(bytes, weights).status();
  };
  Executable missing = generatedAdd();
  missing.instructions[0].symbol = "no_such_function";
  CHECK(absl::IsInvalidArgument(load(missing)));
  Executable notElf = generatedAdd();
  notElf.code.assign(100, 7);
  CHECK(absl::IsInvalidArgument(load(notElf)));
  std::vector<uint8_t> bytes = writeExecutable(generatedAdd());
  constexpr std::string_view kMagic = "\177ELF";
  auto elf = std::search(bytes.begin(), bytes.end(), kMagic.begin(), kMagic.end());
  REQUIRE(elf != bytes.end());
  elf[2000] ^= 1;
  CHECK(testDevice().load(bytes, weights).status().message().find("checksum") != std::string::npos);
}

TEST_CASE("edges become records that the executor serves") {
  Executable e = empty();
  TensorDesc vector = desc({4});
  e.buffers = {buffer(BufferKind::kReceive, 16, 7), buffer(BufferKind::kArena, 16)};
  e.arenaBytes = 64;
  Instruction receive;
  receive.kernel = "receive";
  receive.label = "from encoder";
  receive.outputs = {{0, vector}};
  receive.edge = 7;
  Instruction send;
  send.kernel = "send";
  send.inputs = {{1, vector}};
  send.edge = 9;
  e.instructions = {receive, compute("reference", "gr.neg", {{0, vector}}, {1, vector}), send};
  std::vector<uint8_t> bytes = writeExecutable(e);
  TestWeights weights;
  auto program = testDevice().load(bytes, weights);
  INFO(program.status());
  REQUIRE(program.ok());
  auto records = (*program)->records();
  REQUIRE(records.size() == 3);
  CHECK(records[0].kind == OpRecord::Kind::kReceive);
  CHECK(records[0].edge == 7);
  CHECK((*program)->labels()[records[0].label] == "from encoder");
  CHECK(records[2].kind == OpRecord::Kind::kSend);
  REQUIRE((*program)->edges().size() == 2);
  CHECK((*program)->edges()[1].send);
  CHECK((*program)->edges()[0].spec == TensorSpec{ElementType::kF32, {4}});
  HostTensor slot = f32({4}, {1, -2, 3, -4});
  (*program)->buffers()[records[0].buffer] = slot.data();
  CHECK(records[1].run(records[1].state, (*program)->buffers().data()) == 0);
  CHECK(static_cast<float*>((*program)->buffers()[records[2].buffer])[1] == 2);
}

TEST_CASE("a weight that stays where it is is not copied if it is laid out and aligned as needed") {
  Executable e = empty();
  e.buffers = {buffer(BufferKind::kWeight, 24, 0)};
  e.buffers[0].desc = desc({2, 3});
  std::vector<uint8_t> bytes = writeExecutable(e);
  HostTensor data = f32({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto* first = static_cast<const uint8_t*>(data.data());
  auto owner = std::make_shared<int>();
  struct Case {
    size_t offset;
    std::shared_ptr<const void> owner;
    bool inPlace;
  };
  for (const Case& c : {Case{0, owner, true}, Case{4, owner, false}, Case{0, nullptr, false}}) {
    CAPTURE(c.offset, c.owner != nullptr);
    long owners = owner.use_count();
    TestWeights weights;
    weights.list = {{first + c.offset, 24}};
    weights.owner = c.owner;
    auto program = testDevice().load(bytes, weights);
    REQUIRE(program.ok());
    const void* at = (*program)->buffers()[0];
    CHECK((at == first + c.offset) == c.inPlace);
    CHECK(std::memcmp(at, first + c.offset, 24) == 0);
    weights.owner = nullptr;
    CHECK(owner.use_count() == owners + (c.inPlace ? 1 : 0));
  }
}

TEST_CASE("weights come from the plan: dense, splat, and as transposed views") {
  Executable e = empty();
  TensorDesc matrix = desc({2, 3});
  e.buffers = {buffer(BufferKind::kWeight, 24, 0), buffer(BufferKind::kWeight, 24, 1),
               buffer(BufferKind::kOutput, 24, 0)};
  e.buffers[0].desc = matrix;
  e.buffers[1].desc = matrix;
  e.buffers[1].splat = true;
  e.instructions = {compute("reference", "gr.add", {{0, matrix}, {1, matrix}}, {2, matrix})};
  e.outputs = {{"z", 2, matrix}};
  std::vector<uint8_t> bytes = writeExecutable(e);
  HostTensor data = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  HostTensor one = f32({1}, {10});
  auto span = [](const HostTensor& t) {
    return absl::MakeConstSpan(static_cast<const uint8_t*>(t.data()), t.byteSize());
  };
  TestWeights weights;
  weights.list = {span(data), span(one)};
  auto program = testDevice().load(bytes, weights);
  INFO(program.status());
  REQUIRE(program.ok());
  CHECK((*program)->memory().bytes == 48);
  HostTensor out(TensorSpec{ElementType::kF32, {2, 3}});
  (*program)->buffers()[2] = out.data();
  const OpRecord& record = (*program)->records()[0];
  CHECK(record.run(record.state, (*program)->buffers().data()) == 0);
  CHECK(values(out) == std::vector<double>{11, 12, 13, 14, 15, 16});
  weights.list[0] = span(one);
  CHECK(absl::IsInvalidArgument(testDevice().load(bytes, weights).status()));
  weights.list.clear();
  CHECK(absl::IsNotFound(testDevice().load(bytes, weights).status()));
}

TEST_CASE("a program that does not fit the device's memory is refused") {
  CpuDevice small({"small", "cpu", 0, {}, 1000});
  Executable e = empty();
  e.fingerprint = small.fingerprint();
  e.arenaBytes = 1024;
  std::vector<uint8_t> bytes = writeExecutable(e);
  TestWeights weights;
  absl::Status status = small.load(bytes, weights).status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK(status.message().find("small") != std::string::npos);
}

namespace {

/// A chain of `count` scalar additions between two arena buffers.
Executable chain(int count) {
  Executable e = empty();
  TensorDesc scalar = desc({});
  e.buffers = {buffer(BufferKind::kInput, 4, 0), buffer(BufferKind::kArena, 4, 0, 0),
               buffer(BufferKind::kArena, 4, 0, 64), buffer(BufferKind::kOutput, 4, 0)};
  e.arenaBytes = 128;
  uint32_t from = 0;
  for (int i = 0; i < count; ++i) {
    uint32_t to = i + 1 == count ? 3 : 1 + static_cast<uint32_t>(i % 2);
    e.instructions.push_back(
        compute("reference", "gr.add", {{from, scalar}, {0, scalar}}, {to, scalar}));
    from = to;
  }
  e.inputs = {{"x", 0, scalar}};
  e.outputs = {{"y", 3, scalar}};
  return e;
}

}  // namespace

TEST_CASE("a chain of 10,000 scalar additions is cheap") {
  std::vector<uint8_t> bytes = writeExecutable(chain(10000));
  TestWeights weights;
  auto program = testDevice().load(bytes, weights);
  INFO(program.status());
  REQUIRE(program.ok());
  HostTensor x = f32({}, {1});
  HostTensor y = f32({}, {0});
  (*program)->buffers()[0] = x.data();
  (*program)->buffers()[3] = y.data();
  int64_t best = INT64_MAX;
  for (int run = 0; run < 20; ++run) {
    int64_t start = runtime::nowNanos();
    for (const OpRecord& record : (*program)->records()) {
      record.run(record.state, (*program)->buffers().data());
    }
    best = std::min(best, runtime::nowNanos() - start);
  }
  CHECK(values(y)[0] == 10001);
  WARN("best of 20: " << static_cast<double>(best) / 10000 << " ns an addition");
}

TEST_CASE("all kernels that a load is refused for are told, each instruction's once") {
  Executable e = chain(4);
  e.instructions[0].kernel = e.instructions[2].kernel = "onednn.conv";
  e.instructions[2].label = "third\tstep";
  TestWeights weights;
  absl::Status status = testDevice().load(writeExecutable(e), weights).status();
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("instruction 0 gr.add (onednn.conv gr.add): "));
  std::vector<KernelRefusal> refusals = refusalsOf(status);
  REQUIRE(refusals.size() == 2);
  CHECK(refusals[1].label == "third\tstep");
  CHECK(refusals[1].kernel == "onednn.conv");
  CHECK(!refusals[1].reason.empty());
  RefusedKernels refused;
  CHECK(refused.add(refusals[0]));
  CHECK(!refused.add(refusals[1]));
  CHECK(refused.contains(e.instructions[1], "onednn.conv"));
  CHECK(!refused.contains(e.instructions[1], "reference"));
  CHECK(refusalsOf(absl::InternalError("another failure")).empty());
}

TEST_CASE("want of memory, and what is no library's, is no refusal") {
  RefusalCollector collector;
  Instruction instruction = compute("onednn.conv", "gr.conv", {}, {0, desc({1})});
  CHECK(absl::IsResourceExhausted(
      collector.take(absl::ResourceExhaustedError("full"), instruction, 0)));
  CHECK(absl::IsInternal(collector.take(absl::InternalError("lost"), instruction, 0)));
  instruction.kernel = "generated";
  CHECK(absl::IsUnimplemented(collector.take(absl::UnimplementedError("no code"), instruction, 0)));
  CHECK(collector.status().ok());
}

TEST_CASE(
    "of an instruction whose kernel was refused the next one is chosen, of other instructions "
    "not") {
  Instruction instruction = compute(
      "", "gr.conv", {{0, desc({1, 3, 8, 8})}, {0, desc({4, 3, 3, 3})}}, {0, desc({1, 4, 6, 6})});
  absl::StatusOr<Candidate> first = bestCandidate(instruction);
  REQUIRE(first.ok());
  Instruction made = instruction;
  made.kernel = std::string(first->kernel->name);
  for (size_t i : {0, 1}) {
    made.inputs[i].desc = first->choice->inputs[i];
  }
  made.outputs[0].desc = first->choice->outputs[0];
  RefusalCollector collector;
  REQUIRE(collector.take(absl::UnimplementedError("no primitive"), made, 7).ok());
  RefusedKernels refused;
  for (const KernelRefusal& refusal : refusalsOf(collector.status())) {
    refused.add(refusal);
  }
  const RefusedKernels kept(refused.text());
  REQUIRE(bestCandidate(instruction, &kept).ok());
  CHECK(bestCandidate(instruction, &kept)->kernel->name != first->kernel->name);
  instruction.attributes["strides"] = std::vector<int64_t>{2, 2};
  instruction.outputs[0].desc.dims = {1, 4, 3, 3};
  CHECK(bestCandidate(instruction, &kept)->kernel->name == first->kernel->name);
}

}  // namespace graphrun::devices::cpu
