#include "devices/cpu/attention_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace graphrun::devices::cpu {
namespace {

/// e to the power of x for x <= 0, as arithmetic that compilers vectorise: 2^n times a polynomial
/// in what is left, |r| <= log(2) / 2 (Cody and Waite's reduction; coefficients of Cephes' expf).
[[gnu::always_inline]] inline float expNegative(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  float n = (x * 1.44269504F + kRound) - kRound;
  float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  auto bits = static_cast<uint32_t>((static_cast<int32_t>(n) + 127)) << 23;
  constexpr float kLeast = -87.0F;  // below it the result is no normal number
  return x < kLeast ? 0.0F : p * std::bit_cast<float>(bits);
}

[[gnu::always_inline]] inline void softmaxRowOn(float* scores, const float* mask, int64_t count,
                                                int64_t width) {
  float most = -std::numeric_limits<float>::infinity();
  if (mask != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      scores[i] += mask[i];
    }
  }
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < count; ++i) {
    most = scores[i] > most ? scores[i] : most;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    float weight = expNegative(scores[i] - most);
    scores[i] = weight;
    sum += weight;
  }
  float inverse = 1 / sum;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    scores[i] *= inverse;
  }
  std::fill(scores + count, scores + std::max(count, width), 0.0F);
}

using Row = void (*)(float*, const float*, int64_t, int64_t);

void softmaxRowPlain(float* scores, const float* mask, int64_t count, int64_t width) {
  softmaxRowOn(scores, mask, count, width);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void softmaxRowAvx2(float* scores, const float* mask, int64_t count,
                                                int64_t width) {
  softmaxRowOn(scores, mask, count, width);
}

[[gnu::target("avx512f,avx512dq,avx512vl,fma")]] void softmaxRowAvx512(float* scores,
                                                                       const float* mask,
                                                                       int64_t count,
                                                                       int64_t width) {
  softmaxRowOn(scores, mask, count, width);
}

Row bestRow() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return softmaxRowAvx512;
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? softmaxRowAvx2
                                                                         : softmaxRowPlain;
}
#else
Row bestRow() { return softmaxRowPlain; }
#endif

}  // namespace

void softmaxRow(float* scores, const float* mask, int64_t count, int64_t width) {
  static const Row row = bestRow();
  row(scores, mask, count, width);
}

}  // namespace graphrun::devices::cpu
