// These functions round to bf16, the upper half of a binary32.
#ifndef GRAPHRUN_RUNTIME_BASE_BFLOAT16_H_
#define GRAPHRUN_RUNTIME_BASE_BFLOAT16_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace graphrun::runtime {

/// The bits of the nearest bf16, ties to even; a NaN stays one.
inline uint16_t bfloat16Bits(float x) {
  auto bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>(std::isnan(x) ? bits >> 16 | 0x40U
                                             : (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_BFLOAT16_H_
