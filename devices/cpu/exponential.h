// Exponentials as arithmetic that compilers vectorise. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_EXPONENTIAL_H_
#define GRAPHRUN_DEVICES_CPU_EXPONENTIAL_H_

#include <cstdint>

namespace graphrun::devices::cpu {

/// The integers of the size of a Float: a float or a vector of them.
template <typename Float>
struct BitsOf {
  using Type [[gnu::vector_size(sizeof(Float))]] = uint32_t;
};
template <>
struct BitsOf<float> {
  using Type = uint32_t;
};

/// Makes x, which is not above 0, e to the power of x: within 2 ulp where that is a normal number,
/// else 0. 2^n times a polynomial in what is left, |r| <= log(2) / 2 (Cody and Waite's reduction;
/// coefficients of Cephes' expf). NaN stays.
template <typename Float>
[[gnu::always_inline]] inline void raiseNegative(Float& x) {
  using Bits = typename BitsOf<Float>::Type;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  Float rounded = x * 1.44269504F + kRound;
  Float n = rounded - kRound;
  Float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Float p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  // 2^n is added to the exponent.
  Bits bits = __builtin_bit_cast(Bits, p) + (__builtin_bit_cast(Bits, rounded) << 23);
  constexpr float kLeast = -87.0F;  // below it the result is no normal number
  x = x < kLeast ? Float{} : __builtin_bit_cast(Float, bits);
}

/// Makes x 1 / (1 + e^-x), within 2e-7. NaN stays.
template <typename Float>
[[gnu::always_inline]] inline void makeLogistic(Float& x) {
  Float e = x < 0 ? x : -x;
  raiseNegative(e);
  x = (x < 0 ? e : Float{} + 1.0F) / (1.0F + e);
}

/// Makes x its hyperbolic tangent, within 2e-7. NaN stays.
template <typename Float>
[[gnu::always_inline]] inline void makeTangent(Float& x) {
  Float e = x < 0 ? x + x : -(x + x);
  raiseNegative(e);
  Float size = (1.0F - e) / (1.0F + e);
  x = x < 0 ? -size : size;
}

[[gnu::always_inline]] inline float logistic(float x) {
  makeLogistic(x);
  return x;
}

[[gnu::always_inline]] inline float hyperbolicTangent(float x) {
  makeTangent(x);
  return x;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_EXPONENTIAL_H_
