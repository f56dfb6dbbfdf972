// Exponentials as arithmetic that compilers vectorise. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_EXPONENTIAL_H_
#define GRAPHRUN_DEVICES_CPU_EXPONENTIAL_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace graphrun::devices::cpu {

/// e to the power of x for x <= 0, within 2 ulp where that is a normal number, else 0: 2^n times a
/// polynomial in what is left, |r| <= log(2) / 2 (Cody and Waite's reduction; coefficients of
/// Cephes' expf).
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

/// 1 / (1 + e^-x), within 2e-7.
[[gnu::always_inline]] inline float logistic(float x) {
  float e = expNegative(-std::fabs(x));
  return (x < 0 ? e : 1.0F) / (1.0F + e);
}

/// The hyperbolic tangent, within 2e-7.
[[gnu::always_inline]] inline float hyperbolicTangent(float x) {
  float e = expNegative(-2.0F * std::fabs(x));
  return std::copysign((1.0F - e) / (1.0F + e), x);
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_EXPONENTIAL_H_
