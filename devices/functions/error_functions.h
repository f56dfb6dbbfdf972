// The error function of f32, and what is made of it.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_ERROR_FUNCTIONS_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_ERROR_FUNCTIONS_H_

#include "devices/functions/exponentials.h"

namespace graphrun::devices::functions {

/// Up to 1 a polynomial of x^2; beyond, 1 - e^-p(|x|).
GR_FUNCTION T errorFunction(const T& x) {
  constexpr double kOne = 3.93;  // from here on it is 1
  constexpr double kSmall[] = {0.128379166,    -0.3761262582,    0.1128358515,  -0.02685381192,
                               0.005188327665, -0.0008010193446, 7.853860784e-5};
  constexpr double kLarge[] = {-0.0003393904665, -1.12709756,     -0.6381314093,  -0.1031180055,
                               0.02184325776,    -0.002948909552, 0.0001865020304};
  T size = absolute(x).atMost(kOne);
  T small = fused(size, series(size * size, kSmall), size);
  T large = x.number(1) - exponentialBelow(series(size, kLarge));
  return (size < x.number(1)).choose(small, large).withSignOf(x);
}

/// x Q(-x), where Q(a) = erfc(a / sqrt(2)) / 2 is the chance of a normal variable to be above a.
/// For a = |x| it is e^(-a^2 / 2) P(t) / (a + 4) with t = (a - 4) / (a + 4), up to where it
/// vanishes (the transformation is Shepherd and Laframboise's, "Chebyshev approximation of (1 + 2x)
/// exp(x^2) erfc x", 1981). Near 0, where 1 - Q would lose digits, Q(-x) is 1 / 2 + x R(x^2).
GR_FUNCTION T gelu(const T& x) {
  constexpr double kNothing = 15;  // what Q leaves beyond is 0
  constexpr double kTail[] = {0.7552851354,    -0.6078965883,   0.3871369011,    -0.1865234414,
                              0.06040383165,   -0.007525271561, -0.003512556015, 0.001569923043,
                              0.0001793566966, -0.0001319702853};
  constexpr double kNear = 0.75;
  constexpr double kCentre[] = {0.3989422794, -0.06649029491, 0.009972348367, -0.001181283028,
                                0.0001029384863};
  T size = absolute(x).atMost(kNothing);
  T four = x.number(4), half = x.number(-0.5);
  T square = size * size;
  Decay<T> e = decayOf(square * half, fused(size, size, -square) * half);
  T inverse = x.number(1) / (size + four);
  T tail = series((size - four) * inverse, kTail) * inverse * e.factor;
  tail = (size == x.number(kNothing)).choose(x.number(0), tail);
  T below = x * e.scale.first * tail * e.scale.second;
  T above = fused(-size, tail * e.scale.first * e.scale.second, x);
  T near = x * fused(x, series(square, kCentre), x.number(0.5));
  return (size < x.number(kNear)).choose(near, (x < x.number(0)).choose(below, above));
}

/// 1 / x with a relative error of 7e-6, for x from 2^-60 to 2^60. As integers, the bits of 1 / x
/// are about a constant less those of x, within an eighth; each of Newton's steps squares the
/// error.
GR_FUNCTION T roughInverse(const T& x) {
  auto bits = bitsOf(x);
  T guess = floatOf(bits.number(0x7ef311c7) - bits);
  guess = guess * fused(-x, guess, x.number(2));
  return guess * fused(-x, guess, x.number(2));
}

/// gelu where the result is rounded to a float of 16 bits: with a relative error of 2e-5 in half of
/// the operations. Its coefficients make up for the error of the inverse. Rounding 1 - Q where that
/// is near 1 / 2 loses nothing that such a float would hold.
GR_FUNCTION T geluOf16Bits(const T& x) {
  constexpr double kNothing = 13.75;  // what Q leaves beyond is 0 in bf16
  constexpr double kTail[] = {0.7552898635,  -0.6078998693,   0.3871081045,   -0.1866350299,
                              0.06082269953, -0.006801827166, -0.004527909848};
  constexpr int64_t kLift = 64;  // keeps the power of two normal
  T size = absolute(x).atMost(kNothing);
  T inverse = roughInverse(size + x.number(4));
  Reduced<T> e = reduced(size * size * x.number(-0.5));
  T factor = (size == x.number(kNothing)).choose(x.number(0), nearOne(e.rest));
  T tail = series(fused(inverse, x.number(-8), x.number(1)), kTail) * inverse * factor;
  tail = tail * twoToThe<T>(e.bits, 127 + kLift) * x.number(0x1p-64);
  return (x < x.number(0)).choose(x * tail, fused(-size, tail, x));
}

/// x / 2 (1 + tanh(u)) = x / (1 + e^-2u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
GR_FUNCTION T geluByTangent(const T& x) {
  constexpr double kTwice = 1.5957691216057308;  // 2 sqrt(2 / pi)
  auto y = wide(x.atMost(1000).atLeast(-1000));
  auto power = y * fused(y * y, y.number(kTwice * 0.044715), y.number(kTwice));
  T high = narrow(power);
  return gated(x, high, narrow(power - wide(high)));
}

}  // namespace graphrun::devices::functions

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_ERROR_FUNCTIONS_H_
