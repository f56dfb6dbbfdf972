#include "runtime/base/reduced.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace graphrun::runtime {
namespace {

const double kNan = std::nan("");
constexpr double kInfinity = INFINITY;

/// Facts of a floating-point type from its definition (OCP FP8 and MX, and Noune et al., 2022, for
/// the "fnuz" ones).
struct Float {
  ElementType type;
  unsigned sign;      ///< the sign's bit
  unsigned mostCode;  ///< code of the largest number
  double most, leastNormal, least;
  int nans;         ///< codes that are NaN
  double overflow;  ///< what a number beyond the largest becomes without saturation
};

const Float kFloats[] = {
    {ElementType::kF8E4M3FN, 0x80, 0x7e, 448, 0x1p-6, 0x1p-9, 2, kNan},
    {ElementType::kF8E4M3FNUZ, 0x80, 0x7f, 240, 0x1p-7, 0x1p-10, 1, kNan},
    {ElementType::kF8E5M2, 0x80, 0x7b, 57344, 0x1p-14, 0x1p-16, 6, kInfinity},
    {ElementType::kF8E5M2FNUZ, 0x80, 0x7f, 57344, 0x1p-15, 0x1p-17, 1, kNan},
    {ElementType::kF4E2M1, 0x8, 0x7, 6, 1, 0.5, 0, 6},
    {ElementType::kF6E2M3, 0x20, 0x1f, 7.5, 1, 0.125, 0, 7.5},
    {ElementType::kF6E3M2, 0x20, 0x1f, 28, 0.25, 0.0625, 0, 28},
};

uint8_t encode(ElementType type, double value, bool saturate = true) {
  return encodeReduced(type, value, {saturate, PowerRounding::kUp});
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST_CASE("all codes of the small floats have the values of their formats") {
  for (const Float& f : kFloats) {
    CAPTURE(elementTypeName(f.type));
    double last = 0;
    CHECK(same(decodeReduced(f.type, 0), 0.0));
    for (unsigned code = 1; code <= f.mostCode; ++code) {
      double value = decodeReduced(f.type, static_cast<uint8_t>(code));
      CHECK(value > last);
      CHECK(decodeReduced(f.type, static_cast<uint8_t>(code | f.sign)) == -value);
      last = value;
    }
    CHECK(last == f.most);
    CHECK(decodeReduced(f.type, 1) == f.least);
    CHECK(f.leastNormal / f.least == std::floor(f.leastNormal / f.least));
    CHECK(decodeReduced(f.type, static_cast<uint8_t>(f.leastNormal / f.least)) == f.leastNormal);
    int nans = 0;
    for (unsigned code = 0; code < 2 * f.sign; ++code) {
      nans += std::isnan(decodeReduced(f.type, static_cast<uint8_t>(code))) ? 1 : 0;
    }
    CHECK(nans == f.nans);
  }
  CHECK(decodeReduced(ElementType::kF8E5M2, 0x7c) == kInfinity);
  CHECK(decodeReduced(ElementType::kF8E5M2, 0xfc) == -kInfinity);
  CHECK(std::isnan(decodeReduced(ElementType::kF8E4M3FNUZ, 0x80)));
}

TEST_CASE("every code comes back from its value") {
  for (uint8_t i = 1; i < kElementTypeCount; ++i) {
    auto type = static_cast<ElementType>(i);
    unsigned count = isReduced(type) ? 1U << elementTypeInfo(type).bits : 0;
    for (unsigned code = 0; code < count; ++code) {
      CAPTURE(elementTypeName(type), code);
      double value = decodeReduced(type, static_cast<uint8_t>(code));
      if (!std::isnan(value)) {
        // Infinity is kept only where it does not saturate.
        CHECK(encode(type, value, !std::isinf(value)) == code);
      }
    }
  }
}

TEST_CASE("numbers between two codes go to the nearer, ties to the even one") {
  for (const Float& f : kFloats) {
    for (unsigned code = 0; code < f.mostCode; ++code) {
      CAPTURE(elementTypeName(f.type), code);
      double low = decodeReduced(f.type, static_cast<uint8_t>(code));
      double high = decodeReduced(f.type, static_cast<uint8_t>(code + 1));
      double middle = (low + high) / 2;
      CHECK(encode(f.type, std::nextafter(middle, 0)) == code);
      CHECK(encode(f.type, middle) == code + code % 2);
      CHECK(encode(f.type, std::nextafter(middle, high)) == code + 1);
      CHECK(encode(f.type, -std::nextafter(middle, high)) == ((code + 1) | f.sign));
    }
  }
}

TEST_CASE("beyond the largest number: saturation, or infinity or NaN") {
  for (const Float& f : kFloats) {
    CAPTURE(elementTypeName(f.type));
    double step = f.most - decodeReduced(f.type, static_cast<uint8_t>(f.mostCode - 1));
    // Up to half a step beyond, rounding still gives the largest number.
    CHECK(encode(f.type, f.most + 0.49 * step, false) == f.mostCode);
    for (double value : {f.most + 0.51 * step, 1e300, kInfinity}) {
      CHECK(encode(f.type, value) == f.mostCode);
      CHECK(encode(f.type, -value) == (f.mostCode | f.sign));
      CHECK(same(decodeReduced(f.type, encode(f.type, value, false)), f.overflow));
    }
    CHECK(decodeReduced(f.type, encode(f.type, 1e-300)) == 0);
    CHECK(same(decodeReduced(f.type, encode(f.type, kNan)), f.nans > 0 ? kNan : -0.0));
    // Where the code of minus zero is NaN, there is one zero.
    bool oneZero = f.nans == 1;
    CHECK(encode(f.type, -0.0) == (oneZero ? 0 : f.sign));
  }
}

TEST_CASE("f8e8m0 holds powers of two") {
  constexpr ElementType kType = ElementType::kF8E8M0;
  auto with = [](double value, PowerRounding rounding, bool saturate = true) {
    return static_cast<int>(encodeReduced(kType, value, {saturate, rounding}));
  };
  for (int code = 0; code < 255; ++code) {
    double value = std::ldexp(1.0, code - 127);
    CHECK(decodeReduced(kType, static_cast<uint8_t>(code)) == value);
    if (code < 254) {
      CHECK(with(1.25 * value, PowerRounding::kUp) == code + 1);
      CHECK(with(1.75 * value, PowerRounding::kDown) == code);
      CHECK(with(1.49 * value, PowerRounding::kNearest) == code);
      CHECK(with(1.5 * value, PowerRounding::kNearest) == code + 1);
    }
  }
  CHECK(std::isnan(decodeReduced(kType, 255)));
  CHECK(with(kNan, PowerRounding::kUp) == 255);
  CHECK(with(kInfinity, PowerRounding::kUp) == 254);
  CHECK(with(kInfinity, PowerRounding::kUp, false) == 255);
  CHECK(with(0x1p200, PowerRounding::kDown) == 254);
  CHECK(with(0x1p200, PowerRounding::kDown, false) == 255);
  CHECK(with(0, PowerRounding::kUp) == 0);
  CHECK(with(0x1p-140, PowerRounding::kDown) == 0);
  CHECK(parsePowerRounding("nearest") == PowerRounding::kNearest);
  CHECK_FALSE(parsePowerRounding("sideways"));
}

TEST_CASE("small integers truncate and keep their low bits") {
  auto value = [](ElementType type, double x) { return decodeReduced(type, encode(type, x)); };
  CHECK(value(ElementType::kI4, -8) == -8);
  CHECK(value(ElementType::kI4, 7.9) == 7);
  CHECK(value(ElementType::kI4, 8) == -8);
  CHECK(value(ElementType::kU4, 15.5) == 15);
  CHECK(value(ElementType::kU4, 17) == 1);
  CHECK(value(ElementType::kI2, -2.9) == -2);
  CHECK(value(ElementType::kI2, 2) == -2);
  CHECK(value(ElementType::kU2, 3) == 3);
  CHECK(value(ElementType::kU2, -1) == 3);
  CHECK(value(ElementType::kI4, kNan) == 0);
  CHECK(value(ElementType::kI4, 1e300) == 0);
  CHECK(decodeReduced(ElementType::kI4, 0xf8) == -8);  // bits above do not count
}

TEST_CASE("elements of less than a byte lie without gaps, the first lowest") {
  using Bytes = std::vector<uint8_t>;
  CHECK(unpackReduced(ElementType::kU4, Bytes{0x21, 0x0f}, 3) == Bytes{1, 2, 15});
  CHECK(unpackReduced(ElementType::kU2, Bytes{0x39, 0x02}, 5) == Bytes{1, 2, 3, 0, 2});
  CHECK(unpackReduced(ElementType::kF6E2M3, Bytes{0xbf, 0x50, 0xa9, 0x01}, 5) ==
        Bytes{0x3f, 0x02, 0x15, 0x2a, 0x01});  // ONNX: four in three bytes
  CHECK(unpackReduced(ElementType::kF8E5M2, Bytes{0x7c, 0x01}, 2) == Bytes{0x7c, 0x01});
  CHECK(packedSize(ElementType::kU4, 3) == 2);
  CHECK(packedSize(ElementType::kU2, 5) == 2);
  CHECK(packedSize(ElementType::kF6E2M3, 5) == 4);
  CHECK(packedSize(ElementType::kF8E5M2, 2) == 2);
  CHECK(packedSize(ElementType::kU4, 0) == 0);
}

}  // namespace
}  // namespace graphrun::runtime
