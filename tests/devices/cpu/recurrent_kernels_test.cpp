// The kernels of recurrent layers that are trained, against the reference.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_primitive.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "tests/devices/cpu/backward_cases.h"
#include "tests/devices/cpu/recurrent_oracle.h"

namespace graphrun::devices::cpu {
namespace {

/// The cells, and whether the reset of a GRU comes last.
constexpr std::pair<const char*, bool> kCells[] = {
    {"rnn", false}, {"gru", true}, {"gru", false}, {"lstm", false}};

/// Layers with one panel and many, with parts of panels, of one step and one sequence.
std::vector<RecurrentCase> layers() {
  std::vector<RecurrentCase> layers;
  for (auto [cell, linear] : kCells) {
    for (bool reverse : {false, true}) {
      layers.push_back({cell, 3, 2, 4, 5, reverse, linear});
      layers.push_back({cell, 1, 1, 1, 16, reverse, linear});
      layers.push_back({cell, 9, 20, 7, 33, reverse, linear});
      layers.push_back({cell, 20, 13, 130, 40, reverse, linear});
      layers.push_back({cell, 4, 4, 33, 200, reverse, linear});
      layers.push_back({cell, 3, 140, 3, 64, reverse, linear});
    }
  }
  for (RecurrentCase& layer : layers) {
    layer.keepsSums = true;
  }
  return layers;
}

/// Makes recurrent weights such that differences neither grow from step to step nor vanish.
void dampen(HostTensor& weights, int64_t hidden) {
  for (float& weight : weights.as<float>()) {
    weight /= std::sqrt(static_cast<float>(hidden));
  }
}

Tensors operandsOf(const RecurrentCase& layer, std::mt19937& random) {
  Tensors operands = layer.operands(random);
  dampen(operands[2], layer.hidden);
  return operands;
}

BackwardCase backwardOf(const RecurrentCase& layer) {
  return RecurrentBackward{layer.cell,   layer.steps,   layer.batch,
                           layer.hidden, layer.reverse, layer.linear}
      .made();
}

Tensors backwardOperandsOf(const RecurrentCase& layer, std::mt19937& random) {
  Tensors operands = operandsOf(backwardOf(layer), random);
  dampen(operands[1], layer.hidden);
  return operands;
}

void requireAlike(const Operation& operation, const Tensors& operands, const char* kernel) {
  auto expected = runOperation(operation, operands);
  auto got = runOperation(operation, operands, {kernel, true});
  INFO(expected.status() << got.status());
  REQUIRE((expected.ok() && got.ok()));
  for (size_t i = 0; i < got->size(); ++i) {
    CAPTURE(i);
    CHECK(distance((*got)[i], (*expected)[i]) < 1e-5);
  }
}

/// The bytes of all results by `threads` threads.
std::vector<uint8_t> bytesBy(int threads, const Operation& operation, const Tensors& operands,
                             const char* kernel) {
  ScopedThreads scoped(threads);
  Instruction instruction;
  instruction.operation = operation.name;
  instruction.attributes = operation.attributes;
  std::vector<HostTensor> memory;
  auto place = [&](const TensorSpec& spec) {
    memory.emplace_back(spec);
    std::memset(memory.back().data(), 0, memory.back().byteSize());
    return Argument{static_cast<uint32_t>(memory.size() - 1), {spec.type, spec.dims}};
  };
  for (const HostTensor& operand : operands) {
    instruction.inputs.push_back(place(operand.spec()));
    std::memcpy(memory.back().data(), operand.data(), operand.byteSize());
  }
  for (const TensorSpec& spec : operation.outputs) {
    instruction.outputs.push_back(place(spec));
  }
  auto choice = findKernel(kernel)->choose(instruction);
  REQUIRE(choice.ok());
  instruction.scratch = place({ElementType::kU8, {static_cast<int64_t>(choice->scratchBytes)}});
  OneDnn onednn;
  KernelContext context{onednn};
  auto made = createKernel(*findKernel(kernel), instruction, context);
  REQUIRE(made.ok());
  std::vector<void*> buffers;
  for (HostTensor& tensor : memory) {
    buffers.push_back(tensor.data());
  }
  REQUIRE((*made)->run(buffers.data()) == 0);
  std::vector<uint8_t> bytes;
  for (const Argument& output : instruction.outputs) {
    const HostTensor& tensor = memory[output.buffer];
    const auto* data = static_cast<const uint8_t*>(tensor.data());
    bytes.insert(bytes.end(), data, data + tensor.byteSize());
  }
  return bytes;
}

}  // namespace

TEST_CASE("recurrent layers keep the sums that the reference keeps") {
  std::mt19937 random(10);
  for (const RecurrentCase& layer : layers()) {
    CAPTURE(layer.cell, layer.linear, layer.batch, layer.hidden, layer.reverse);
    requireAlike(layer.operation(), operandsOf(layer, random), "recurrent_sums");
  }
}

TEST_CASE("recurrent layers go backward as the reference does") {
  std::mt19937 random(11);
  for (const RecurrentCase& layer : layers()) {
    CAPTURE(layer.cell, layer.linear, layer.batch, layer.hidden, layer.reverse);
    requireAlike(operationOf(backwardOf(layer), ElementType::kF32),
                 backwardOperandsOf(layer, random), "recurrent_backward");
  }
}

TEST_CASE("any number of threads makes the same bits of a layer and of its gradients") {
  std::mt19937 random(13);
  for (auto [cell, linear] : kCells) {
    CAPTURE(cell, linear);
    RecurrentCase layer{cell, 5, 12, 40, 330, false, linear};
    layer.keepsSums = true;
    Tensors operands = operandsOf(layer, random);
    Tensors back = backwardOperandsOf(layer, random);
    Operation backward = operationOf(backwardOf(layer), ElementType::kF32);
    const std::vector<uint8_t> alone = bytesBy(1, layer.operation(), operands, "recurrent_sums");
    const std::vector<uint8_t> backAlone = bytesBy(1, backward, back, "recurrent_backward");
    for (int threads : {2, 3, 5}) {
      CAPTURE(threads);
      CHECK(bytesBy(threads, layer.operation(), operands, "recurrent_sums") == alone);
      CHECK(bytesBy(threads, backward, back, "recurrent_backward") == backAlone);
    }
  }
}

TEST_CASE("kernels of recurrent layers that are trained decline what they do not do") {
  std::mt19937 random(12);
  for (RecurrentCase layer : {RecurrentCase{"lstm", 2, 2, 3, 4, false, false, true},
                              {"lstm", 2, 2, 3, 4, false, false, false, true},
                              {"lstm", 2, 2, 3, 4, false, false, false, false, 0.5},
                              {"gru", 2, 2, 3, 4, false, false, false, false, 0.5},
                              {"rnn", 2, 2, 3, 4, false, false, false, false, 0, {1, 2}},
                              {"rnn", 2, 2, 3, 4, false, false, false, false, 0, {}, "relu"}}) {
    CAPTURE(layer.cell);
    layer.keepsSums = true;
    for (const char* kernel : {"recurrent_sums", "onednn.recurrent", "lstm"}) {
      auto got = runOperation(layer.operation(), layer.operands(random), {kernel, true});
      CHECK(absl::IsUnimplemented(got.status()));
    }
  }
  for (const RecurrentBackward& layer :
       {RecurrentBackward{"gru", 3, 2, 4, false, false, false, false, 0.5},
        {"rnn", 2, 3, 4, true, false, false, false, 0.5},
        {"lstm", 3, 2, 4, true, false, true},
        {"lstm", 4, 1, 3, false, false, false, true}}) {
    BackwardCase each = layer.made();
    auto got = runOperation(operationOf(each, ElementType::kF32), operandsOf(each, random),
                            {"recurrent_backward", true});
    CHECK(absl::IsUnimplemented(got.status()));
  }
}

}  // namespace graphrun::devices::cpu
