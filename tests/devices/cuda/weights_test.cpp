// Weights on their way to the GPU.
#include "devices/cuda/kernels/layouts.h"
#include "devices/cuda/program/shared_weights.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

std::vector<float> laidOut(const Buffer& buffer, const std::vector<float>& given) {
  auto bytes = layOut(buffer, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(given.data()),
                                                  given.size() * sizeof(float)));
  INFO(bytes.status());
  REQUIRE(bytes.ok());
  std::vector<float> result(bytes->size() / sizeof(float));
  std::copy_n(bytes->data(), bytes->size(), reinterpret_cast<uint8_t*>(result.data()));
  return result;
}

Buffer weight(TensorDesc desc, uint64_t bytes) {
  Buffer buffer = bufferOf(BufferKind::kWeight, bytes);
  buffer.desc = std::move(desc);
  return buffer;
}

/// output = weight + 1, for a weight of four elements.
Executable addsToWeight() {
  Executable e;
  e.buffers = {weight(f32({4}), 16), bufferOf(BufferKind::kOutput, 16)};
  e.instructions = {generated("add_one", {{0, f32({4})}}, {1, f32({4})}, 4)};
  e.outputs = {{"y", 1, f32({4})}};
  e.code = codeOf({"add_one"});
  return e;
}

}  // namespace

TEST_CASE("weights are laid out as kernels expect them") {
  std::vector<float> given = {1, 2, 3, 4, 5, 6};
  CHECK(laidOut(weight(f32({2, 3}), 24), given) == given);
  TensorDesc columns = stridedDesc(runtime::ElementType::kF32, {2, 3}, {1, 2});
  CHECK(laidOut(weight(columns, 24), given) == std::vector<float>{1, 4, 2, 5, 3, 6});
  Buffer transposed = weight(f32({2, 3}), 24);
  transposed.source = columns;
  CHECK(laidOut(transposed, {1, 4, 2, 5, 3, 6}) == given);
  Buffer reshaped = weight(f32({2, 3}), 24);
  reshaped.source = f32({6});
  CHECK(laidOut(reshaped, given) == given);
  Buffer splat = weight(f32({2, 2}), 16);
  splat.splat = true;
  CHECK(laidOut(splat, {7}) == std::vector<float>(4, 7));
}

TEST_CASE("weights of f32 are rounded to bf16") {
  Buffer rounded = weight({runtime::ElementType::kBF16, {3, 1}, {}, false}, 6);
  rounded.source = f32({3, 1});
  std::vector<float> given = {1.0F, 1.00390625F, -3.0234375F};  // the last two are ties
  auto bytes = layOut(rounded, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(given.data()),
                                                   given.size() * sizeof(float)));
  REQUIRE(bytes.ok());
  CHECK(*bytes == std::vector<uint8_t>{0x80, 0x3f, 0x80, 0x3f, 0x42, 0xc0});
  rounded.desc.type = runtime::ElementType::kF16;
  CHECK(absl::IsInvalidArgument(layOut(rounded, std::vector<uint8_t>(12)).status()));
}

TEST_CASE("weights of 8-bit floats are laid out as what they stand for, or as they are") {
  using runtime::ElementType;
  const std::vector<uint8_t> given = {0x38, 0x40, 0xc0, 0x30};  // 1, 2, -2, 0.5 of e4m3
  Buffer wide = weight(stridedDesc(ElementType::kF16, {2, 2}, {1, 2}), 8);
  wide.source = TensorDesc{ElementType::kF16, {2, 2}};
  wide.quantized = Quantization{ElementType::kF8E4M3FN, 0.5F};
  CHECK(layOut(wide, given).value() ==
        std::vector<uint8_t>{0x00, 0x38, 0x00, 0xbc, 0x00, 0x3c, 0x00, 0x34});
  wide.splat = true;
  CHECK(layOut(wide, {0x38}).value().size() == 8);
  CHECK(absl::IsInvalidArgument(layOut(wide, given).status()));
  Buffer bytes = weight(stridedDesc(ElementType::kF8E4M3FN, {2, 2}, {1, 2}), 4);
  CHECK(layOut(bytes, given).value() == std::vector<uint8_t>{0x38, 0xc0, 0x40, 0x30});
}

TEST_CASE("a weight of another size, and a bad layout, are refused") {
  std::vector<uint8_t> bytes(20);
  CHECK_THAT(std::string(layOut(weight(f32({2, 3}), 24), bytes).status().message()),
             Catch::Contains("a weight has 20 bytes, expected 24 of 2x3xf32"));
  TensorDesc odd = f32({2, 3});
  odd.layout.resize(7);
  CHECK_THAT(std::string(layoutBytes(odd).status().message()), Catch::Contains("expected 16"));
  TensorDesc huge = stridedDesc(runtime::ElementType::kF32, {3, 3}, {int64_t{1} << 62, 1});
  CHECK(absl::IsInvalidArgument(layoutBytes(huge).status()));
  TensorDesc negative = stridedDesc(runtime::ElementType::kF32, {3}, {-1});
  CHECK(absl::IsInvalidArgument(layoutBytes(negative).status()));
  CHECK(layoutBytes(stridedDesc(runtime::ElementType::kF32, {2, 3}, {1, 8})).value() == 72);
}

TEST_CASE("programs share the weights that have a checksum") {
  GpuFixture gpu;
  ListedWeights weights;
  weights.values = {{1, 2, 3, 4}};
  auto first = load(gpu, addsToWeight(), weights).value();
  int pieces = testing::gpuCounts().deviceMemory;
  auto second = load(gpu, addsToWeight(), weights).value();
  CHECK(weights.reads == 1);
  CHECK(first->memory().shared == 0);
  CHECK(second->memory().shared == 16);
  CHECK(testing::gpuCounts().deviceMemory == pieces + 2);  // arena and output
  first.reset();
  std::vector<float> y(4);
  second->buffers()[1] = y.data();
  REQUIRE(runCompute(*second).ok());
  CHECK(y == std::vector<float>{2, 3, 4, 5});
  second.reset();
  CHECK(testing::gpuCounts().deviceMemory == 0);
  weights.checksums = false;
  first = load(gpu, addsToWeight(), weights).value();
  second = load(gpu, addsToWeight(), weights).value();
  CHECK(weights.reads == 3);
  CHECK(second->memory().shared == 0);
}

TEST_CASE("a constant and a splat reach the kernels") {
  GpuFixture gpu;
  Executable e = addsToWeight();
  e.buffers[0].kind = BufferKind::kConstant;
  e.buffers[0].splat = true;
  float value = 6;
  e.buffers[0].data.assign(reinterpret_cast<uint8_t*>(&value),
                           reinterpret_cast<uint8_t*>(&value + 1));
  ListedWeights weights;
  auto program = load(gpu, e, weights).value();
  std::vector<float> y(4);
  program->buffers()[1] = y.data();
  REQUIRE(runCompute(*program).ok());
  CHECK(y == std::vector<float>(4, 7));
}

}  // namespace graphrun::devices::cuda
