// Packed weights of a device: who shares them, and when their memory goes.
#include "devices/cpu/runtime/packed_weights.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/packing.h"

namespace graphrun::devices::cpu {
namespace {

/// A splat of eight floats: packing spreads the one element.
Buffer splat() {
  Buffer buffer;
  buffer.kind = BufferKind::kWeight;
  buffer.bytes = 32;
  buffer.desc = {runtime::ElementType::kF32, {8}, {}, false};
  buffer.splat = true;
  return buffer;
}

Weight weight(const float& value, uint64_t checksum) {
  return {{reinterpret_cast<const uint8_t*>(&value), sizeof value}, nullptr, checksum};
}

TensorDesc blocked(const TensorDesc& source) {
  const std::vector<int64_t>& dims = source.dims;
  int64_t blocks = (dims[1] + 15) / 16;
  int64_t positions = dims[2] * dims[3] * 16;
  Blocking blocking;
  blocking.dims = dims;
  blocking.paddedDims = {dims[0], blocks * 16, dims[2], dims[3]};
  blocking.strides = {blocks * positions, positions, dims[3] * 16, 16};
  blocking.innerDims = {1};
  blocking.innerBlocks = {16};
  return *blockedDesc(source.type, blocking);
}

/// `source` in blocks of 16 channels and back.
std::vector<float> packedAndBack(const std::vector<float>& elements, const TensorDesc& source,
                                 int& slices) {
  OneDnn onednn;
  Buffer buffer;
  buffer.kind = BufferKind::kWeight;
  buffer.desc = blocked(source);
  buffer.bytes = *layoutBytes(buffer.desc);
  buffer.source = source;
  Memory packed = *allocateMemory(buffer.bytes);
  auto bytes = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(elements.data()),
                                   elements.size() * sizeof(float));
  REQUIRE(packBuffer(buffer, bytes, packed.get(), onednn, [&] { ++slices; }).ok());
  std::vector<float> back(elements.size());
  REQUIRE(unpackTensor(buffer.desc, packed.get(), back.data(), onednn).ok());
  return back;
}

}  // namespace

TEST_CASE("a large weight is packed in slices along its outermost dim") {
  constexpr int64_t kRows = 200, kChannels = 150, kPosition = 100;  // 12 MB
  std::vector<float> elements(kRows * kChannels * kPosition);
  std::iota(elements.begin(), elements.end(), 0.0F);
  int slices = 0;
  SECTION("rows") {
    TensorDesc source{runtime::ElementType::kF32, {kRows, kChannels, 10, 10}, {}, false};
    CHECK(packedAndBack(elements, source, slices) == elements);
  }
  SECTION("channels, when the matrix is read transposed") {
    auto source = stridedDesc(runtime::ElementType::kF32, {kRows, kChannels, 10, 10},
                              {kPosition, kRows * kPosition, 10, 1});
    REQUIRE(source.ok());
    std::vector<float> back = packedAndBack(elements, *source, slices);
    bool same = true;
    for (int64_t at = 0; at < std::ssize(back); ++at) {
      int64_t row = at / kPosition / kChannels, channel = at / kPosition % kChannels;
      same = same && back[at] == elements[(channel * kRows + row) * kPosition + at % kPosition];
    }
    CHECK(same);
  }
  CHECK(slices > 1);
}

TEST_CASE("what is packed once is shared until its last user has gone") {
  PackedWeights packed;
  OneDnn onednn;
  float value = 3;
  auto first = *packed.get(splat(), weight(value, 5), onednn);
  auto second = *packed.get(splat(), weight(value, 5), onednn);
  CHECK_FALSE(first.shared);
  CHECK(second.shared);
  CHECK(first.bytes == second.bytes);
  CHECK(packed.find(splat(), 5) == first.bytes);
  CHECK(packed.find(splat(), 6) == nullptr);
  CHECK(reinterpret_cast<float*>(first.bytes.get())[7] == 3);
  CHECK(packed.bytes() == 32);
  first.bytes.reset();
  CHECK(packed.bytes() == 32);
  second.bytes.reset();
  CHECK(packed.bytes() == 0);
  packed.dropUnused();
  CHECK_FALSE(packed.get(splat(), weight(value, 5), onednn)->shared);
}

TEST_CASE("weights of 8-bit floats are packed as what they stand for") {
  using runtime::ElementType;
  const uint8_t given[] = {0x38, 0xc0, 0x01, 0x00};  // 1, -2, 2^-9, 0 of e4m3
  Buffer buffer;
  buffer.kind = BufferKind::kWeight;
  buffer.bytes = 16;
  buffer.desc = {ElementType::kF32, {2, 2}, {}, false};
  buffer.quantized = Quantization{ElementType::kF8E4M3FN, 3};
  CHECK_FALSE(isPacked(buffer, given));
  PackedWeights packed;
  OneDnn onednn;
  auto floats = *packed.get(buffer, {given, nullptr, 5}, onednn);
  const auto* values = reinterpret_cast<const float*>(floats.bytes.get());
  CHECK(std::vector<float>(values, values + 4) == std::vector<float>{3, -6, 0x3p-9F, 0});
  buffer.quantized->factor = 2;
  CHECK_FALSE(packed.get(buffer, {given, nullptr, 5}, onednn)->shared);
  buffer.desc.type = ElementType::kF16;
  buffer.bytes = 8;
  buffer.quantized = Quantization{ElementType::kF8E5M2, 0.1F};
  auto halves = *packed.get(buffer, {given, nullptr, 6}, onednn);  // 0.5, -2, 2^-16, 0 of e5m2
  const auto* bits = reinterpret_cast<const uint16_t*>(halves.bytes.get());
  CHECK(std::vector<uint16_t>(bits, bits + 4) == std::vector<uint16_t>{0x2a66, 0xb266, 0x001a, 0});
}

TEST_CASE("other content, other layouts and unknown content are packed anew") {
  PackedWeights packed;
  OneDnn onednn;
  float value = 3;
  auto first = *packed.get(splat(), weight(value, 5), onednn);
  CHECK_FALSE(packed.get(splat(), weight(value, 6), onednn)->shared);
  Buffer matrix = splat();
  matrix.desc.dims = {2, 4};
  CHECK_FALSE(packed.get(matrix, weight(value, 5), onednn)->shared);
  auto unknown = *packed.get(splat(), weight(value, 0), onednn);
  CHECK_FALSE(packed.get(splat(), weight(value, 0), onednn)->shared);
  CHECK(packed.bytes() == 32);  // of others nothing is known
}

}  // namespace graphrun::devices::cpu
