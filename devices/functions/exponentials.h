// Exponentials and logarithms of f32, and what is made of them. T is what they are computed in: see
// README.md. Errors are in FUNCTIONS.md of devices/cpu.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_EXPONENTIALS_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_EXPONENTIALS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace graphrun::devices::functions {

#define GR_FUNCTION     \
  template <typename T> \
  [[gnu::always_inline]] inline

/// The sum of coefficients[i] x^i, from coefficient `kFirst` on.
template <size_t kFirst = 0, typename T, size_t kCount>
[[gnu::always_inline]] inline T series(const T& x, const double (&coefficients)[kCount]) {
  if constexpr (kFirst + 1 == kCount) {
    return x.number(coefficients[kFirst]);
  } else {
    return fused(series<kFirst + 1>(x, coefficients), x, x.number(coefficients[kFirst]));
  }
}

inline constexpr int kFraction = 23;  // bits behind the point
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// e^x = 2^n e^rest: n in the low bits of `bits`, |rest| up to log(2) / 2 (Cody and Waite,
/// "Software manual for the elementary functions", 1980).
template <typename T>
struct Reduced {
  decltype(bitsOf(std::declval<T>())) bits;
  T rest;
};

/// log(2) as the sum of two f32.
inline constexpr double kLog2 = 0x1.62e430p-1, kLog2Rest = -0x1.05c610p-29;

GR_FUNCTION Reduced<T> reduced(const T& x) {
  constexpr double kLog2OfE = 0x1.715476p+0;
  constexpr double kRounding = 0x1.8p23;  // what is added to it becomes whole, in its last bits
  T shifted = fused(x, x.number(kLog2OfE), x.number(kRounding));
  T count = shifted - x.number(kRounding);
  T rest = fused(count, x.number(-kLog2), x);
  return {bitsOf(shifted), fused(count, x.number(-kLog2Rest), rest)};
}

/// e^r for |r| up to log(2) / 2.
GR_FUNCTION T nearOne(const T& r) {
  constexpr double kGrowth[] = {0.5000000027, 0.1666657654, 0.04166637385, 0.008363251676,
                                0.001394123973};
  return fused(fused(series(r, kGrowth), r, r.number(1)), r, r.number(1));
}

/// e^r - 1 for |r| up to log(2) / 2.
GR_FUNCTION T nearZero(const T& r) {
  constexpr double kGrowth[] = {0.5000000014,   0.1666666676,   0.04166646395,
                                0.008333285793, 0.001393375639, 0.0001990773508};
  return fused(series(r, kGrowth), r * r, r);
}

/// 2^n with n + `bias` in the low bits; n is an exponent of normal numbers.
template <typename T, typename W>
[[gnu::always_inline]] inline T twoToThe(const W& bits, int64_t bias = 127) {
  return floatOf((bits << kFraction) + bits.number(bias << kFraction));
}

/// 2^n as a product of two numbers, where it is none by itself: n from -250 to 250.
template <typename T>
struct Halves {
  T first, second;
};
template <typename T, typename W>
[[gnu::always_inline]] inline Halves<T> halvesOf(const W& bits) {
  W half = (bits >> 1) << kFraction;
  W bias = bits.number(int64_t{127} << kFraction);
  return {floatOf(half + bias), floatOf((bits << kFraction) - half + bias)};
}

/// Below this exponentials round to 0, above the other they are infinite.
inline constexpr double kLeastExponent = -104, kMostExponent = 89;

GR_FUNCTION T exponential(const T& x) {
  Reduced<T> e = reduced(x.atMost(kMostExponent).atLeast(kLeastExponent));
  Halves<T> scale = halvesOf<T>(e.bits);
  return nearOne(e.rest) * scale.first * scale.second;
}

/// e^x for x up to 0. What vanishes is a product with 0: rounding it to 0 takes a hundred times as
/// long.
GR_FUNCTION T exponentialBelow(const T& x) {
  constexpr int64_t kLift = 64;  // keeps the power of two normal
  auto vanishes = x < x.number(kLeastExponent);
  Reduced<T> e = reduced(vanishes.choose(x.number(kLeastExponent), x));
  T factor = vanishes.choose(x.number(0), nearOne(e.rest));
  return factor * twoToThe<T>(e.bits, 127 + kLift) * x.number(0x1p-64);
}

GR_FUNCTION T exponentialMinusOne(const T& x) {
  constexpr double kMinusOne = -20;  // below it the result is -1
  Reduced<T> e = reduced(x.atMost(kMostExponent).atLeast(kMinusOne));
  T half = twoToThe<T>(e.bits, 126);  // of 2^n, which may be too large
  T result = fused(nearZero(e.rest), half, half - x.number(0.5)) * x.number(2);
  return (absolute(x) < x.number(0x1p-25)).choose(x, result);
}

/// A polynomial of x^2 near 0; beyond, with e = e^-2|x|, 1 - 2 e / (1 + e).
GR_FUNCTION T hyperbolicTangent(const T& x) {
  constexpr double kNear = 0.625;
  constexpr double kOne = 10;  // from here on it is 1
  constexpr double kSeries[] = {-0.3333332925, 0.1333279418, -0.05385401218, 0.0210098039,
                                -0.00611278306};
  T size = absolute(x).atMost(kOne), square = size * size;
  T near = fused(square * size, series(square, kSeries), size);
  Reduced<T> e = reduced(size * x.number(-2));
  T small = nearOne(e.rest) * twoToThe<T>(e.bits);
  T one = x.number(1);
  T far = fused(small / (one + small), x.number(-2), one);
  return (size < x.number(kNear)).choose(near, far).withSignOf(x);
}

/// 1 / (1 + e^-x).
GR_FUNCTION T sigmoid(const T& x) {
  T small = exponentialBelow(-absolute(x));
  return (x < x.number(0)).choose(small, x.number(1)) / (x.number(1) + small);
}

/// e^x = scale.first * scale.second * factor for x = high + low up to 0; `factor` is 0 where even a
/// product with it vanishes.
template <typename T>
struct Decay {
  T factor;
  Halves<T> scale;
};
GR_FUNCTION Decay<T> decayOf(const T& high, const T& low) {
  constexpr double kLeast = -173;  // whose halves are normal
  auto vanishes = high < high.number(kLeast);
  Reduced<T> e = reduced(vanishes.choose(high.number(kLeast), high));
  return {vanishes.choose(high.number(0), nearOne(e.rest + low)), halvesOf<T>(e.bits)};
}

/// x / (1 + e^-(high + low)). What is small is a product of x that is rounded once.
GR_FUNCTION T gated(const T& x, const T& high, const T& low) {
  T zero = x.number(0);
  auto isNegative = high < zero;
  Decay<T> e = decayOf(-absolute(high), isNegative.choose(low, -low));
  T share = e.factor * e.scale.first * e.scale.second;
  T small = x * e.scale.first * e.factor * e.scale.second;
  return isNegative.choose(small, x) / (x.number(1) + share);
}

/// x / (1 + e^(-alpha x)).
GR_FUNCTION T swish(const T& x, const T& alpha) {
  T power = x * alpha;
  return gated(x, power, fused(x, alpha, -power));
}

/// log(1 + f) for f from -1/3 to 1/3.
GR_FUNCTION T logarithmNear(const T& f) {
  constexpr double kSeries[] = {0.3333331983, -0.2499989621, 0.2000383588, -0.1667677149,
                                0.1411696598, -0.1222652056, 0.1343385201, -0.1274211437};
  return fused(f * f, fused(f, series(f, kSeries), f.number(-0.5)), f);
}

/// 2^n m with m from 2/3 to 4/3.
template <typename T>
struct Split {
  decltype(bitsOf(std::declval<T>())) power;
  T fraction;
};
GR_FUNCTION Split<T> split(const T& x) {
  auto bits = bitsOf(x);
  auto power = (bits - bits.number(0x3f2aaaab)) >> kFraction;
  return {power, floatOf(bits - (power << kFraction))};
}

/// n log(2) + y.
GR_FUNCTION T withPower(const T& count, const T& y) {
  return fused(count, y.number(kLog2), fused(count, y.number(kLog2Rest), y));
}

/// `result` for positive and finite x; else what log gives: -infinity, infinity or NaN.
GR_FUNCTION T withEnds(const T& x, const T& result) {
  T zero = x.number(0);
  T below = (x == zero).choose(x.number(-kInfinite), x * x.number(kNoNumber));
  T finite = (x == x.number(kInfinite)).choose(x, result);
  return (x > zero).choose(finite, below);
}

GR_FUNCTION T logarithm(const T& x) {
  auto isSmall = x < x.number(0x1p-126);
  Split<T> s = split(isSmall.choose(x * x.number(0x1p23), x));
  T count = s.power.asFloat() - isSmall.choose(x.number(23), x.number(0));
  return withEnds(x, withPower(count, logarithmNear(s.fraction - x.number(1))));
}

/// log(1 + x) for finite x above -1. What rounding 1 + x loses is added to the fraction.
GR_FUNCTION T logarithmAbove(const T& x) {
  T one = x.number(1), sum = one + x;
  T lost = x - (sum - one);
  Split<T> s = split(sum);
  auto bounded = s.power.atMost(100);  // beyond, what was lost does not count
  T scale = floatOf(bounded.number(int64_t{127} << kFraction) - (bounded << kFraction));
  return withPower(s.power.asFloat(), logarithmNear(fused(lost, scale, s.fraction - one)));
}

GR_FUNCTION T logarithmOfOnePlus(const T& x) {
  T result = withEnds(x.number(1) + x, logarithmAbove(x));
  return (absolute(x) < x.number(0x1p-25)).choose(x, result);
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
GR_FUNCTION T softplus(const T& x) {
  T small = exponentialBelow(-absolute(x));
  return x.atLeast(0) + logarithmAbove(small);
}

GR_FUNCTION T elu(const T& x, const T& alpha) {
  return (x < x.number(0)).choose(alpha * functions::exponentialMinusOne(x), x);
}

GR_FUNCTION T selu(const T& x, const T& alpha, const T& gamma) {
  T below = alpha * functions::exponentialMinusOne(x);
  return gamma * (x > x.number(0)).choose(x, below);
}

}  // namespace graphrun::devices::functions

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_EXPONENTIALS_H_
