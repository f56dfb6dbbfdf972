// The file form of executables: round trip, and what hostile ones meet.
#include <catch2/catch.hpp>

#include "devices/cpu/base/onednn_layouts.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

/// A convolution with packed weights, reorders and a residual: every kind of buffer but an edge.
Executable sample() {
  std::mt19937 random(1);
  Dims in = {1, 20, 6, 6};
  Tensors inputs;
  inputs.push_back(randomTensor(in, random));
  inputs.push_back(randomTensor({20, 20, 3, 3}, random));
  inputs.push_back(randomTensor({20}, random));
  inputs.push_back(randomTensor(in, random));
  Operation conv{
      "gr.conv",
      {{"pads", Dims{1, 1, 1, 1}}},
      {{ElementType::kF32, in}},
      {{PostOpKind::kBinaryAdd, "", 0, 0, {}}, {PostOpKind::kEltwise, "gr.relu", 0, 0, {}}}};
  return makeExecutable(conv, inputs, {"onednn.conv", true, {1, 2}}).value();
}

/// A program of reference kernels that reads positions at run time.
Executable sampleSlice() {
  Tensors inputs;
  inputs.push_back(f32({4, 4}, std::vector<double>(16, 1)));
  for (double v : {1.0, 3.0, 0.0, 1.0}) {
    inputs.push_back(i64({1}, {v}));
  }
  return makeExecutable({"gr.slice", {}, {{ElementType::kF32, {2, 4}}}, {}}, inputs,
                        {"reference", false, {1, 2, 3, 4}})
      .value();
}

absl::Status load(const std::vector<uint8_t>& bytes) {
  TestWeights weights;
  return testDevice().load(bytes, weights).status();
}

/// Loads, and runs on memory of the declared sizes when that worked.
absl::Status loadAndRun(const std::vector<uint8_t>& bytes) {
  TestWeights weights;
  auto program = testDevice().load(bytes, weights);
  if (!program.ok()) {
    return program.status();
  }
  Tensors memory;
  auto bind = [&](const TensorSpec& spec, uint32_t buffer) {
    memory.emplace_back(spec);
    std::fill_n(static_cast<uint8_t*>(memory.back().data()), memory.back().byteSize(), 0);
    (*program)->buffers()[buffer] = memory.back().data();
  };
  for (const Binding& b : (*program)->inputs()) {
    bind(b.spec, b.buffer);
  }
  for (const Binding& b : (*program)->outputs()) {
    bind(b.spec, b.buffer);
  }
  for (const EdgeBinding& b : (*program)->edges()) {
    if (!b.send) {
      bind(b.spec, b.buffer);
    }
  }
  for (const OpRecord& record : (*program)->records()) {
    if (record.run != nullptr) {
      static_cast<void>(record.run(record.state, (*program)->buffers().data()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

TEST_CASE("an executable survives its file form") {
  Executable executable = sample();
  executable.instructions[0].attributes = {{"int", int64_t{3}},
                                           {"float", 0.5},
                                           {"bool", true},
                                           {"string", std::string("text")},
                                           {"ints", Dims{1, 2}},
                                           {"floats", std::vector<double>{1.5}},
                                           {"bools", std::vector<bool>{true, false}},
                                           {"strings", std::vector<std::string>{"a", ""}},
                                           {"type", TensorSpec{ElementType::kF32, {2}}}};
  executable.instructions[0].threads = 1;
  executable.instructions[0].grid = {3, 2, 1};
  executable.instructions[0].block = {128, 1, 1};
  executable.instructions[0].sharedBytes = 4096;
  executable.code = {1, 2, 3};
  uint32_t weight = executable.instructions[0].inputs[1].buffer;
  executable.buffers[weight].quantized = Quantization{ElementType::kF8E5M2, 0.25F};
  std::vector<uint8_t> bytes = writeExecutable(executable);
  auto read = readExecutable(bytes, layoutBytes);
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(read->instructions[0].attributes == executable.instructions[0].attributes);
  CHECK(read->instructions[0].threads == 1);
  CHECK(read->instructions[0].grid == Extent{3, 2, 1});
  CHECK(read->instructions[0].block == Extent{128, 1, 1});
  CHECK(read->instructions[0].sharedBytes == 4096);
  CHECK(read->instructions[1].block == Extent());
  REQUIRE(read->buffers[weight].quantized.has_value());
  CHECK(read->buffers[weight].quantized->type == ElementType::kF8E5M2);
  CHECK(read->buffers[weight].quantized->factor == 0.25F);
  CHECK(writeExecutable(*read) == bytes);
}

TEST_CASE("an executable for another machine is told from a damaged one") {
  Executable executable = sample();
  CHECK(load(writeExecutable(executable)).ok());
  executable.fingerprint = "cpu of another kind";
  absl::Status status = load(writeExecutable(executable));
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("another kind") != std::string::npos);
  CHECK(absl::IsInvalidArgument(load({})));
  CHECK(absl::IsInvalidArgument(load(std::vector<uint8_t>(4096, 0))));
}

TEST_CASE("what does not fit in an executable is refused with where it is") {
  auto refused = [](const std::function<void(Executable&)>& damage) {
    Executable executable = sample();
    damage(executable);
    absl::Status status = load(writeExecutable(executable));
    INFO(status);
    CHECK(absl::IsInvalidArgument(status));
  };
  auto conv = [](Executable& e) -> Instruction& {
    for (Instruction& instruction : e.instructions) {
      if (instruction.kernel == "onednn.conv") {
        return instruction;
      }
    }
    return e.instructions[0];
  };
  refused([&](Executable& e) { conv(e).inputs[0].buffer = 1000; });
  refused([&](Executable& e) {
    conv(e).inputs.pop_back();
    conv(e).inputs.pop_back();
  });
  refused([&](Executable& e) { conv(e).outputs.clear(); });
  refused([&](Executable& e) { conv(e).kernel = "no such kernel"; });
  refused([&](Executable& e) { conv(e).kernel = "generated"; });
  refused([&](Executable& e) { conv(e).outputs[0].desc.dims[0] = 1 << 30; });
  refused([&](Executable& e) { conv(e).outputs[0].buffer = conv(e).inputs[1].buffer; });
  refused([&](Executable& e) { conv(e).postOps[0].operand.reset(); });
  refused([&](Executable& e) { conv(e).attributes["strides"] = Dims{0, 0}; });
  refused([&](Executable& e) { conv(e).attributes["pads"] = std::string("none"); });
  refused([&](Executable& e) { e.arenaBytes = 64; });
  refused([&](Executable& e) { e.arenaBytes = ~uint64_t{0}; });
  refused([&](Executable& e) { e.buffers[conv(e).inputs[1].buffer].data.pop_back(); });
  refused([&](Executable& e) { e.buffers[conv(e).inputs[1].buffer].bytes = 8; });
  for (ElementType type : {ElementType::kF32, ElementType::kF8E8M0, ElementType{200}}) {
    refused([&](Executable& e) {
      e.buffers[conv(e).inputs[1].buffer].quantized = Quantization{type, 1};
    });
  }
  refused([&](Executable& e) { e.outputs[0].desc.dims[0] = 2; });
  refused([&](Executable& e) { e.inputs.pop_back(); });
  refused([&](Executable& e) { e.inputs[0].buffer = 77; });
}

TEST_CASE("no damaged byte makes loading or running crash") {
  std::mt19937 random(2);
  int loaded = 0;
  for (const Executable& executable : {sample(), sampleSlice()}) {
    std::vector<uint8_t> good = writeExecutable(executable);
    for (int i = 0; i < 1500; ++i) {
      std::vector<uint8_t> bad = good;
      for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
        bad[random() % bad.size()] = static_cast<uint8_t>(random());
      }
      loaded += loadAndRun(bad).ok() ? 1 : 0;
    }
    for (size_t length = 0; length < good.size(); length += 1 + good.size() / 200) {
      CHECK(!load({good.begin(), good.begin() + static_cast<int64_t>(length)}).ok());
    }
  }
  CHECK(loaded > 0);  // weights' bytes may be anything
}

}  // namespace graphrun::devices::cpu
