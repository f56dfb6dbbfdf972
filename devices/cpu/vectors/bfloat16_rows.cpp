#include "devices/cpu/vectors/bfloat16_rows.h"

#include <bit>

#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

[[gnu::always_inline]] inline void widen(const BFloat16* from, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(uint32_t{from[i].bits} << 16);
  }
}

[[gnu::always_inline]] inline void narrow(const float* from, BFloat16* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    auto bits = std::bit_cast<uint32_t>(from[i]);
    uint32_t rounded = bits + 0x7fffU + (bits >> 16 & 1U);
    uint32_t quiet = bits | 0x400000U;
    bool isNumber = (bits & 0x7fffffffU) <= 0x7f800000U;
    to[i].bits = static_cast<uint16_t>((isNumber ? rounded : quiet) >> 16);
  }
}

}  // namespace

void widenRow(const BFloat16* from, float* to, int64_t count) {
  runWide([&] { widen(from, to, count); });
}

void narrowRow(const float* from, BFloat16* to, int64_t count) {
  runWide([&] { narrow(from, to, count); });
}

}  // namespace graphrun::devices::cpu
