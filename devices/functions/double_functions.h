// These activations of f64 are made of the C library's exp, expm1 and log1p. T is what they are
// computed in: see README.md. Errors are in devices/cpu/FUNCTIONS.md.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_DOUBLE_FUNCTIONS_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_DOUBLE_FUNCTIONS_H_

#include "devices/functions/piecewise.h"

namespace graphrun::devices::functions::doubles {

// Lines are lines whatever they are computed in.
using functions::hardSigmoid;
using functions::hardSwish;

/// 1 / (1 + e^-x). What is small is e^x itself: no term is infinite.
GR_FUNCTION T sigmoid(const T& x) {
  T small = expOf(-absolute(x));
  return (x < x.number(0)).choose(small, x.number(1)) / (x.number(1) + small);
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
GR_FUNCTION T softplus(const T& x) { return x.atLeast(0) + log1pOf(expOf(-absolute(x))); }

GR_FUNCTION T elu(const T& x, const T& alpha) {
  return (x < x.number(0)).choose(alpha * expm1Of(x), x);
}

GR_FUNCTION T selu(const T& x, const T& alpha, const T& gamma) {
  return gamma * (x > x.number(0)).choose(x, alpha * expm1Of(x));
}

/// e^x = first * second for x = high + low up to 0. `second` is 1 where e^x is normal; beyond both
/// are halves, which are normal far below where their product vanishes.
template <typename T>
struct Decay {
  T first;
  T second;
};
GR_FUNCTION Decay<T> decayOf(const T& high, const T& low) {
  auto isNormal = high > high.number(-700);
  T part = expOf(isNormal.choose(high, high * high.number(0.5)));
  return {fused(part, low, part), isNormal.choose(high.number(1), part)};
}

/// x / (1 + e^-(high + low)) for |high| up to kMostPower. What is small is a product of x that is
/// rounded once where it is subnormal.
inline constexpr double kMostPower = 3000;  // the exponential of half of it vanishes
GR_FUNCTION T gated(const T& x, const T& high, const T& low) {
  auto isNegative = high < x.number(0);
  Decay<T> e = doubles::decayOf(-absolute(high), isNegative.choose(low, -low));
  return isNegative.choose(x * e.first * e.second, x) / (x.number(1) + e.first * e.second);
}

/// x / (1 + e^(-alpha x)). A product beyond kMostPower has no low part that counts.
GR_FUNCTION T swish(const T& x, const T& alpha) {
  T power = x * alpha;
  T high = power.atMost(kMostPower).atLeast(-kMostPower);
  T low = (high == power).choose(fused(x, alpha, -power), x.number(0));
  return doubles::gated(x, high, low);
}

/// x Q(-x), where Q(a) = erfc(a / sqrt(2)) / 2 is the chance of a normal variable to be above a:
/// the form of error_functions.h with longer series. Both go through their functions at Chebyshev's
/// points, of a from 0.75 to 40 and of x^2 up to 0.5625; their errors are 2^-57 of the results.
GR_FUNCTION T gelu(const T& x) {
  constexpr double kNothing = 60;  // what Q leaves from here on is 0
  constexpr double kTail[] = {
      0.75528513041575152,     -0.60789664197189219,    0.38713740074221403,
      -0.18652185795964607,    0.060396574890972693,    -0.0075401889672173667,
      -0.003479692368337439,   0.0016308184674737967,   0.00013334432437278048,
      -0.00023109504506318757, -1.9083399472250047e-06, 3.5145425089187581e-05,
      7.1696227442051027e-07,  -5.9233156365696992e-06, -6.3013243726212921e-07,
      1.0300905980414073e-06,  2.7123347543174686e-07,  -1.6944067629962568e-07,
      -8.2128421196633972e-08, 2.7509218906451033e-08,  1.4787893311991264e-08,
      -4.7756368297567688e-09};
  constexpr double kNear = 0.75;
  constexpr double kCentre[] = {0.3989422804014327,     -0.066490380066905441,
                                0.0099735570100352427,  -0.0011873282154673639,
                                0.00011543468746461614, -9.4446552510266468e-06,
                                6.6596526040096161e-07, -4.1216377944751367e-08,
                                2.2577992096081358e-09, -9.9554413694154566e-11};
  T size = absolute(x).atMost(kNothing);
  T four = x.number(4), half = x.number(-0.5);
  T square = size * size;
  Decay<T> e = doubles::decayOf(square * half, fused(size, size, -square) * half);
  T tail = series((size - four) / (size + four), kTail) / (size + four);
  T below = x * e.first * tail * e.second;
  T above = fused(-size, tail * e.first * e.second, x);
  T near = x * fused(x, series(square, kCentre), x.number(0.5));
  return (size < x.number(kNear)).choose(near, (x < x.number(0)).choose(below, above));
}

/// x / 2 (1 + tanh(u)) = x / (1 + e^-2u) with 2u = x (c + d x^2), of which all is a sum of two f64:
/// c = 2 sqrt(2 / pi), d = 0.044715 c.
GR_FUNCTION T geluByTangent(const T& x) {
  constexpr double kLinear = 0x1.9884533d43651p+0, kLinearRest = -0x1.cbc0d30ebfd15p-54;
  constexpr double kCubic = 0x1.2444f2a4d8b4bp-4, kCubicRest = -0x1.6c843a29d1c7p-61;
  T y = x.atMost(30).atLeast(-30);
  T square = y * y, squareRest = fused(y, y, -square);
  T cubic = square * x.number(kCubic);
  T cubicRest = fused(square, x.number(kCubic), -cubic) +
                fused(squareRest, x.number(kCubic), square * x.number(kCubicRest));
  T linear = x.number(kLinear), slope = linear + cubic;
  T part = slope - linear;
  T slopeRest = (linear - (slope - part)) + (cubic - part) + cubicRest + x.number(kLinearRest);
  T power = y * slope;
  return doubles::gated(x, power, fused(y, slopeRest, fused(y, slope, -power)));
}

}  // namespace graphrun::devices::functions::doubles

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_DOUBLE_FUNCTIONS_H_
