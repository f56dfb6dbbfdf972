#include "devices/cpu/attention_rows.h"

#include <algorithm>
#include <limits>

#include "devices/cpu/exponential.h"

namespace graphrun::devices::cpu {
namespace {

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
