// These functions round to f16, IEEE 754 binary16, and give its values.
#ifndef GRAPHRUN_RUNTIME_BASE_FLOAT16_H_
#define GRAPHRUN_RUNTIME_BASE_FLOAT16_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace graphrun::runtime {

/// The bits of the nearest f16, ties to even; infinity from 65520 on, a NaN stays one.
inline uint16_t float16Bits(float x) {
  auto bits = std::bit_cast<uint32_t>(x);
  auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  float magnitude = std::fabs(x);
  if (std::isnan(x)) {
    return static_cast<uint16_t>(sign | 0x7e00U);
  }
  if (magnitude >= 65520.0F) {
    return static_cast<uint16_t>(sign | 0x7c00U);
  }
  if (magnitude < 0x1p-14F) {  // subnormal: adding 1/2 rounds at 2^-24
    auto rounded = std::bit_cast<uint32_t>(magnitude + 0.5F);
    return static_cast<uint16_t>(sign | (rounded - 0x3f000000U));
  }
  uint32_t normal = std::bit_cast<uint32_t>(magnitude) - 0x38000000U;
  return static_cast<uint16_t>(sign | (normal + 0xfffU + (normal >> 13 & 1U)) >> 13);
}

/// Exact.
inline float float16Value(uint16_t bits) {
  uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  }
  if (magnitude < 0x400U) {  // zero and subnormal: a multiple of 2^-24
    float value = static_cast<float>(magnitude) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_FLOAT16_H_
