// Transposed convolutions as products with panels, against the reference.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_primitive.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "devices/cpu/vectors/instructions.h"
#include "tests/devices/cpu/like_reference.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kTolerance = 5e-5;

/// Panels are of vectors with 16 floats.
bool hasPanels() { return loopInstructions() == InstructionSet::kAvx512; }

int64_t pick(std::mt19937& random, std::initializer_list<int64_t> from) {
  return from.begin()[random() % from.size()];
}

/// A transposed convolution of random sizes, with enough channels.
struct Case {
  Dims in, filter, out;
  Operation operation;

  Case(std::mt19937& random, size_t spatial) {
    const int64_t groups = pick(random, {1, 1, 2, 3});
    const int64_t outGroup = pick(random, {32, 48, 64, 80, 130});
    in = {pick(random, {1, 2}), groups * pick(random, {40, 41, 64})};
    filter = {in[1], outGroup};
    out = {in[0], groups * outGroup};
    Dims strides, dilations, pads(2 * spatial), extra;
    for (size_t d = 0; d < spatial; ++d) {
      in.push_back(pick(random, {1, 3, 5, 8}));
      filter.push_back(pick(random, {1, 2, 3, 4, 5}));
      strides.push_back(pick(random, {1, 2, 2, 3}));
      dilations.push_back(pick(random, {1, 1, 2}));
      pads[d] = pick(random, {0, 1, 2});
      pads[spatial + d] = pick(random, {0, 1, 2});
      extra.push_back(strides[d] > 1 ? pick(random, {0, 1}) : 0);
      out.push_back((in.back() - 1) * strides[d] + (filter.back() - 1) * dilations[d] + 1 +
                    extra[d] - pads[d] - pads[spatial + d]);
    }
    operation = {"gr.conv_transpose",
                 {{"strides", strides},
                  {"dilations", dilations},
                  {"pads", pads},
                  {"output_padding", extra},
                  {"groups", groups}},
                 {{ElementType::kF32, out}},
                 {}};
  }
  bool isValid() const { return *std::min_element(out.begin(), out.end()) > 0; }
};

void check(const Operation& operation, const Tensors& inputs) {
  requireLikeReference(operation, inputs, {"panel_deconv", true, {1, 2}}, kTolerance);
}

Operation fourByFour(Dims out) {
  return {"gr.conv_transpose",
          {{"strides", Dims{2, 2}}, {"pads", Dims{1, 1, 1, 1}}},
          {{ElementType::kF32, std::move(out)}},
          {}};
}

Tensors operandsOf(const Dims& in, const Dims& filter, std::mt19937& random) {
  Tensors inputs;
  inputs.push_back(randomTensor(in, random));
  inputs.push_back(randomTensor(filter, random, -0.1, 0.1));
  inputs.push_back(randomTensor({filter[1]}, random));
  return inputs;
}

/// The instruction of these operands, whose layouts are open.
Instruction openInstruction(const Operation& operation, const Tensors& inputs) {
  Instruction instruction;
  instruction.operation = operation.name;
  instruction.attributes = operation.attributes;
  for (const HostTensor& input : inputs) {
    instruction.inputs.push_back({0, {input.spec().type, input.spec().dims, {}, true}});
  }
  instruction.outputs.push_back(
      {0, {operation.outputs[0].type, operation.outputs[0].dims, {}, true}});
  return instruction;
}

}  // namespace

TEST_CASE("transposed convolutions of many channels are products with panels") {
  if (!hasPanels()) {
    return;
  }
  std::mt19937 random(31);
  int ran = 0;
  for (int i = 0; i < 120; ++i) {
    Case c(random, i % 4 == 0 ? 1 : 2);
    if (!c.isValid()) {
      continue;
    }
    CAPTURE(i, c.in, c.filter, c.out, c.operation.attributes.size());
    Tensors inputs;
    inputs.push_back(randomTensor(c.in, random));
    inputs.push_back(randomTensor(c.filter, random, -0.2, 0.2));
    if (i % 2 == 0) {
      inputs.push_back(randomTensor({c.out[1]}, random));
    }
    check(c.operation, inputs);
    ++ran;
  }
  CHECK(ran >= 80);
}

TEST_CASE("panels make results in strips, of several rows and of parts of long ones") {
  if (!hasPanels()) {
    return;
  }
  std::mt19937 random(32);
  check(fourByFour({2, 32, 60, 60}), operandsOf({2, 40, 30, 30}, {40, 32, 4, 4}, random));
  check(fourByFour({1, 32, 6, 1400}), operandsOf({1, 40, 3, 700}, {40, 32, 4, 4}, random));
}

TEST_CASE("what is fused behind a transposed convolution is done before panels' sums are stored") {
  if (!hasPanels()) {
    return;
  }
  std::mt19937 random(33);
  Tensors inputs = operandsOf({1, 40, 5, 7}, {40, 80, 4, 4}, random);
  Operation plain = fourByFour({1, 80, 10, 14});
  auto sums = runOperation(plain, inputs);
  REQUIRE(sums.ok());
  inputs.push_back(randomTensor({1, 80, 10, 14}, random));
  Operation fused = plain;
  PostOp add{PostOpKind::kBinaryAdd, "", 0, 0, Argument{}};
  PostOp leaky{PostOpKind::kEltwise, "gr.leaky_relu", 0.1F, 0, {}};
  PostOp twice{PostOpKind::kEltwise, "linear", 2, 1, {}};
  fused.postOps = {leaky, add, twice};
  auto got = runOperation(fused, inputs, {"panel_deconv", true, {1, 2}});
  INFO(got.status());
  REQUIRE(got.ok());
  std::vector<double> expected = values((*sums)[0]);
  std::vector<double> added = values(inputs[3]);
  for (size_t i = 0; i < expected.size(); ++i) {
    double x = expected[i] < 0 ? 0.1 * expected[i] : expected[i];
    expected[i] = 2 * (x + added[i]) + 1;
  }
  CHECK(distance((*got)[0], f32({1, 80, 10, 14}, expected)) < kTolerance);
}

TEST_CASE("panels decline few channels, and what wastes much of their vectors") {
  if (!hasPanels()) {
    return;
  }
  std::mt19937 random(34);
  auto choice = [&](int64_t in, int64_t out) {
    Tensors inputs = operandsOf({1, in, 4, 4}, {in, out, 4, 4}, random);
    return findKernel("panel_deconv")
        ->choose(openInstruction(fourByFour({1, out, 8, 8}), inputs))
        .status();
  };
  CHECK(choice(40, 32).ok());
  CHECK(absl::IsUnimplemented(choice(3, 32)));
  CHECK(absl::IsUnimplemented(choice(40, 3)));
  CHECK(absl::IsUnimplemented(choice(40, 33)));
}

TEST_CASE("any number of threads makes the same bits of a transposed convolution by panels") {
  if (!hasPanels()) {
    return;
  }
  std::mt19937 random(35);
  Tensors inputs = operandsOf({2, 40, 9, 9}, {40, 80, 3, 3}, random);
  Operation operation = fourByFour({2, 80, 17, 17});
  Instruction instruction = openInstruction(operation, inputs);
  std::vector<uint8_t> alone;
  for (int threads : {1, 2, 3, 5}) {
    ScopedThreads scoped(threads);
    auto choice = findKernel("panel_deconv")->choose(instruction);
    REQUIRE(choice.ok());
    CHECK(choice->parts > threads);
    Instruction placed = instruction;
    std::vector<HostTensor> memory;
    auto place = [&](const TensorDesc& desc) {
      memory.emplace_back(TensorSpec{ElementType::kU8, {static_cast<int64_t>(*layoutBytes(desc))}});
      std::memset(memory.back().data(), 0, memory.back().byteSize());
      return Argument{static_cast<uint32_t>(memory.size() - 1), desc};
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
      placed.inputs[i] = place(choice->inputs[i]);
      // In whatever order the elements are.
      for (float& x : absl::MakeSpan(static_cast<float*>(memory.back().data()),
                                     memory.back().byteSize() / sizeof(float))) {
        x = static_cast<float>(((&x - static_cast<float*>(memory.back().data())) * 37) % 101) / 97;
      }
    }
    placed.outputs[0] = place(choice->outputs[0]);
    placed.scratch = place({ElementType::kU8, {static_cast<int64_t>(choice->scratchBytes)}});
    OneDnn onednn;
    KernelContext context{onednn};
    auto kernel = createKernel(*findKernel("panel_deconv"), placed, context);
    REQUIRE(kernel.ok());
    std::vector<void*> buffers;
    for (HostTensor& tensor : memory) {
      buffers.push_back(tensor.data());
    }
    REQUIRE((*kernel)->run(buffers.data()) == 0);
    const auto* result = static_cast<const uint8_t*>(memory[placed.outputs[0].buffer].data());
    std::vector<uint8_t> bytes(result, result + memory[placed.outputs[0].buffer].byteSize());
    alone = alone.empty() ? bytes : alone;
    CHECK(bytes == alone);
  }
}

}  // namespace graphrun::devices::cpu
