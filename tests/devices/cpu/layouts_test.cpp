#include <catch2/catch.hpp>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

TensorDesc dense(Dims dims) { return {ElementType::kF32, std::move(dims), {}, false}; }

/// nChw16c over `dims`.
TensorDesc blocked16(Dims dims) {
  int64_t blocks = (dims[1] + 15) / 16;
  Blocking b{dims, {dims[0], blocks * 16, dims[2], dims[3]}, {}, {16}, {1}};
  b.strides = {blocks * dims[2] * dims[3] * 16, dims[2] * dims[3] * 16, dims[3] * 16, 16};
  return blockedDesc(ElementType::kF32, b).value();
}

}  // namespace

TEST_CASE("a blocked layout tells its size, name and structure") {
  TensorDesc desc = blocked16({2, 20, 3, 5});
  CHECK(layoutName(desc) == "aBcd16b");
  CHECK(layoutBytes(desc).value() == 2 * 32 * 3 * 5 * 4);
  CHECK(!isDense(desc));
  Blocking blocking = blockingOf(desc).value();
  CHECK(blocking.paddedDims == Dims{2, 32, 3, 5});
  CHECK(blocking.blockOf(1) == 16);
  CHECK(blocking.extent() == 2 * 32 * 3 * 5);
  CHECK(sameLayout(desc, blocked16({2, 20, 3, 5})));
  CHECK(!sameLayout(desc, dense({2, 20, 3, 5})));
}

TEST_CASE("strides tell dense from transposed; dims of 1 do not matter") {
  CHECK(isDense(dense({2, 3})));
  CHECK(isDense(stridedDesc(ElementType::kF32, {1, 3, 1}, {100, 1, 7}).value()));
  TensorDesc transposed = stridedDesc(ElementType::kF32, {2, 3}, {1, 2}).value();
  CHECK(!isDense(transposed));
  CHECK(layoutName(transposed) == "ba");
  CHECK(layoutBytes(transposed).value() == 24);
  CHECK(stridedDesc(ElementType::kF32, {2, 3}, {3, 1}).value().layout.empty());
  CHECK(!stridedDesc(ElementType::kI64, {2, 3}, {1, 2}).ok());
}

TEST_CASE("convolutions choose blocked layouts, packed weights and no scratch that is not told") {
  Instruction instruction;
  instruction.operation = "gr.conv";
  instruction.attributes = {{"pads", Dims{1, 1, 1, 1}}, {"groups", int64_t{2}}};
  instruction.inputs = {{0, dense({1, 64, 14, 14})}, {0, dense({64, 32, 3, 3})}, {0, dense({64})}};
  instruction.outputs = {{0, dense({1, 64, 14, 14})}};
  instruction.inputs[0].desc.any = instruction.inputs[1].desc.any =
      instruction.outputs[0].desc.any = true;
  LayoutChoice choice = findKernel("onednn.conv")->choose(instruction).value();
  CHECK(choice.inputs[1].dims == Dims{2, 32, 32, 3, 3});
  CHECK(!choice.implementation.empty());
  CHECK(layoutBytes(choice.inputs[1]).ok());
  // What was chosen is accepted as given, and asks for nothing else.
  for (size_t i = 0; i < 3; ++i) {
    instruction.inputs[i].desc = choice.inputs[i];
  }
  instruction.outputs[0].desc = choice.outputs[0];
  LayoutChoice again = findKernel("onednn.conv")->choose(instruction).value();
  CHECK(again.inputs == choice.inputs);
  CHECK(again.outputs == choice.outputs);
  CHECK(again.scratchBytes == choice.scratchBytes);
  CHECK(again.implementation == choice.implementation);
}

TEST_CASE("damaged layouts are refused, whatever bytes they hold") {
  TensorDesc good = blocked16({2, 20, 3, 5});
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    TensorDesc bad = good;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      bad.layout[random() % bad.layout.size()] = static_cast<uint8_t>(random());
    }
    auto bytes = layoutBytes(bad);
    // A change in a reserved or unused field leaves the layout as it was.
    if (bytes.ok() && !isOpaque(bad)) {
      CHECK(blockingOf(bad).ok());
    }
    static_cast<void>(layoutName(bad));
    static_cast<void>(isDense(bad));
  }
  good.layout.pop_back();
  CHECK(absl::IsInvalidArgument(layoutBytes(good).status()));
}

}  // namespace graphrun::devices::cpu
