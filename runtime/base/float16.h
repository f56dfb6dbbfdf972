// Rounding to f16, IEEE 754 binary16.
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

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_FLOAT16_H_
