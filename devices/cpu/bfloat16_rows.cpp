#include "devices/cpu/bfloat16_rows.h"

#include <bit>

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

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512vl")]] void widenAvx512(const BFloat16* from, float* to,
                                                              int64_t count) {
  widen(from, to, count);
}

[[gnu::target("avx512f,avx512bw,avx512vl")]] void narrowAvx512(const float* from, BFloat16* to,
                                                               int64_t count) {
  narrow(from, to, count);
}

bool hasAvx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl");
  return has;
}
#endif

}  // namespace

void widenRow(const BFloat16* from, float* to, int64_t count) {
#if defined(__x86_64__)
  if (hasAvx512()) {
    return widenAvx512(from, to, count);
  }
#endif
  widen(from, to, count);
}

void narrowRow(const float* from, BFloat16* to, int64_t count) {
#if defined(__x86_64__)
  if (hasAvx512()) {
    return narrowAvx512(from, to, count);
  }
#endif
  narrow(from, to, count);
}

}  // namespace graphrun::devices::cpu
