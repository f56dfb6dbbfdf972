#include "runtime/base/float16.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/base/bfloat16.h"
#include "runtime/base/round_to_odd.h"

namespace graphrun::runtime {
namespace {

uint16_t half(double x) { return float16Bits(roundToOdd(x)); }

TEST_CASE("every f16 has a value that rounds back to it") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = float16Value(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      CHECK(std::isnan(float16Value(float16Bits(value))));
    } else if (float16Bits(value) != bits || half(value) != bits) {
      FAIL("f16 " << bits << " is " << value << ", which rounds to " << float16Bits(value));
    }
  }
}

TEST_CASE("numbers between two f16 round to the nearest, ties to even") {
  CHECK(half(2051) == half(2052));
  CHECK(half(2049) == half(2048));
  CHECK(half(65519.99) == 0x7bff);
  CHECK(half(65520) == 0x7c00);
  CHECK(half(1e300) == 0x7c00);
  CHECK(half(-1e300) == 0xfc00);
  CHECK(half(0x1p-25) == 0);
  CHECK(half(0x1.8p-25) == 1);
  CHECK(std::isnan(float16Value(half(std::numeric_limits<double>::quiet_NaN()))));
}

TEST_CASE("a double is rounded once on its way to 16 bits") {
  // To f32 first these would be ties, and go to the even neighbour.
  CHECK(half(1 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(half(1 + 0x1p-11) == 0x3c00);
  CHECK(half(1 + 3 * 0x1p-11 - 0x1p-40) == 0x3c01);
  CHECK(bfloat16Bits(roundToOdd(1 + 0x1p-8 + 0x1p-40)) == 0x3f81);
  CHECK(bfloat16Bits(roundToOdd(1 + 0x1p-8)) == 0x3f80);
}

}  // namespace
}  // namespace graphrun::runtime
