// Packed weights of a device: who shares them, and when their memory goes.
#include "devices/cpu/packed_weights.h"

#include <catch2/catch.hpp>
#include <cstring>

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

}  // namespace

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
