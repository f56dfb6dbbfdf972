// Exponentials, logarithms, powers and the error function of f64. What is rounded is computed as a
// pair of f64 before, so that results are within one unit in the last place or close to that.
#include <array>
#include <limits>
#include <numbers>

#include "devices/codegen/double_forms.h"

namespace graphrun::devices::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2OfE = 0x1.71547652b82fep+0;
constexpr double kLog2 = 0x1.62e42fefa39efp-1, kLog2Rest = 0x1.abc9e3b39803fp-56;
/// A float of about 2^52: what is added to it is rounded to a whole number in its last bits.
constexpr double kRoundingShift = 0x1.8p52;
/// Exponentials of more are infinite, of less 0.
constexpr double kMostExponent = 800;

/// 2^power (1 + rest), with |rest| below 0.42.
struct Exponential {
  Word power;
  Pair rest;
};

/// x = power log 2 + r; e^r - 1 by its series, of which less than 2^-57 is left out (Cody and
/// Waite, "Software manual for the elementary functions", 1980).
Exponential exponentialOf(const Pair& number) {
  Term high = number.high.atMost(kMostExponent).atLeast(-kMostExponent);
  Term low = (high == number.high).choose(number.low, high.number(0));
  Term shifted = fused(high, high.number(kLog2OfE), high.number(kRoundingShift));
  Term count = shifted - high.number(kRoundingShift);
  Pair r =
      sumOf(fused(-count, high.number(kLog2), high), fused(-count, high.number(kLog2Rest), low));
  std::array<double, 12> series;  // 1/2!, 1/3!, …
  double factorial = 1;
  for (size_t i = 0; i < series.size(); ++i) {
    factorial *= static_cast<double>(i + 2);
    series[i] = 1 / factorial;
  }
  Term beyond = r.high * r.high * polynomial(r.high, series);
  Pair rest = quickSum(r.high, beyond + fused(r.low, r.high, r.low));
  return {bitsOf(shifted) - bitsOf(high.number(kRoundingShift)), rest};
}

/// x 2^power, rounded once where the first half of the power keeps x normal.
Term scaled(const Term& x, const Word& power) {
  Word half = power >> 1;
  return x * powerOfTwo(half) * powerOfTwo(power - half);
}

Term valueOf(const Exponential& e, int64_t extra = 0) {
  Pair one = quickSum(e.rest.high.number(1), e.rest.high);
  return scaled(one.high + (one.low + e.rest.low), e.power + e.power.number(extra));
}

/// 2^power ((1 - 2^-power) + rest). Powers below -60 and above 100 change nothing beside 1.
Term minusOne(const Exponential& e) {
  Word power = e.power.atLeast(-60);
  Term apart = e.rest.high.number(1) - powerOfTwo(power.number(0) - power.atMost(100));
  Pair sum = sumOf(apart, e.rest.high);
  return scaled(sum.high + (sum.low + e.rest.low), power);
}

/// The logarithm of positive and finite numbers: x = 2^k m with m around 1, and with s = (m - 1) /
/// (m + 1) log m = 2 (s + s^3 / 3 + s^5 / 5 + …), of which less than 2^-70 is left out.
Pair logarithmOf(const Pair& x) {
  constexpr double kLeastNormal = std::numeric_limits<double>::min();
  constexpr int64_t kLift = 54;
  Term isSmall = x.high < x.high.number(kLeastNormal);
  Pair lifted = choose(isSmall, x.scaled(0x1p54), x);
  Word bits = bitsOf(lifted.high);
  Word power = (bits - bitsOf(x.high.number(std::numbers::sqrt2 / 2))) >> 52;
  Term m = floatOf(bits - (power << 52));
  Term below = lifted.low * powerOfTwo(power.number(0) - power.atMost(1000));
  Pair f = sumOf(m - m.number(1), below);
  Pair s = f / (f + f.number(2));
  std::array<double, 11> series;  // 1/5, 1/7, …
  for (size_t i = 0; i < series.size(); ++i) {
    series[i] = 1.0 / static_cast<double>(2 * i + 5);
  }
  Pair square = s * s;
  Pair third = s.number(0x1.5555555555555p-2, 0x1.5555555555555p-56);
  Pair factor = square * (third + pairOf(square.high * polynomial(square.high, series)));
  Pair ofM = (s + s * factor).scaled(2);
  Word unlifted = power - power.number(kLift);
  Term count = Word{isSmall.choose(unlifted.term, power.term)}.asFloat();
  Pair whole = productOf(count, count.number(kLog2));
  whole.low = fused(count, count.number(kLog2Rest), whole.low);
  return whole + ofM;
}

/// `result` for positive and finite x; else what log gives: -infinity, infinity or NaN.
Term withLogarithmsEnds(const Term& x, const Term& result) {
  Term infinity = x.number(kInfinity);
  Term beyond = (x == x.number(0)).choose(-infinity, (x == infinity).choose(x, x.number(kNaN)));
  return (x > x.number(0) && x < infinity).choose(result, beyond);
}

/// Numbers so small, zeros too, that the function's value is themselves.
Term smallStays(const Term& x, const Term& result) {
  return (absolute(x) < x.number(0x1p-60)).choose(x, result);
}

/// log(x + root), or log 2x where x is so large that a 1 in the root does not count.
Term logarithmOfSum(const Term& x, const Pair& root) {
  Term isLarge = x > x.number(0x1p60);
  Pair log = logarithmOf(choose(isLarge, pairOf(x), root + pairOf(x)));
  return choose(isLarge, log + log.number(kLog2, kLog2Rest), log).rounded();
}

/// From here on exp(-a) does not count beside exp(a).
constexpr double kOneSided = 22;

/// Between 1 and 6, where it is one: 1 - exp(-a^2) P(t) / (1 + 2a) with t = (a - 4) / (a + 4), as
/// in Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", 1981. P goes
/// through that function at Chebyshev's points between 1 and 6; its error is 2^-57 of the result.
Term errorFunctionAbove(const Term& a) {
  constexpr double kCoefficients[] = {
      1.2329951186255526,     -0.13962111684056236,    0.01537965210257007,
      0.0680970542544652,     -0.1010390660290445,     0.0937328350448936,
      -0.06633036611671828,   0.037167512486740814,    -0.016197734350641032,
      0.005032040312285165,   -0.0007575424899723285,  -0.00019943791115473986,
      0.00014780980824831742, -3.1982217080725404e-05, -2.0987219091222924e-05};
  Term t = (a - a.number(4)) / (a + a.number(4));
  Term small = valueOf(exponentialOf(-productOf(a, a)));
  return a.number(1) - small * polynomial(t, kCoefficients) / fused(a, a.number(2), a.number(1));
}

/// Below 1: its series (Abramowitz and Stegun, 7.1.5), of which less than 2^-60 is left out.
Term errorFunctionBelow(const Term& x) {
  constexpr double kTwoOverRootOfPi = 0x1.20dd750429b6dp+0, kItsRest = 0x1.1ae3a914fed80p-56;
  std::array<double, 19> series;  // of all terms but the first
  double factorial = 1;
  for (size_t i = 0; i < series.size(); ++i) {
    auto n = static_cast<double>(i + 1);
    factorial *= -n;
    series[i] = kTwoOverRootOfPi / (factorial * (2 * n + 1));
  }
  Term square = x * x;
  Term beyond = fused(square, polynomial(square, series), x.number(kItsRest));
  Pair first = productOf(x, x.number(kTwoOverRootOfPi));
  return first.high + fused(x, beyond, first.low);
}

}  // namespace

Term exponential(const Term& x) { return valueOf(exponentialOf(pairOf(x))); }

Term exponentialMinusOne(const Term& x) {
  return smallStays(x, minusOne(exponentialOf(pairOf(x))));
}

Term naturalLogarithm(const Term& x) {
  return withLogarithmsEnds(x, logarithmOf(pairOf(x)).rounded());
}

Term logarithmOfOnePlus(const Term& x) {
  Pair sum = sumOf(x.number(1), x);
  return smallStays(x, withLogarithmsEnds(sum.high, logarithmOf(sum).rounded()));
}

Term withPowersSign(const Term& x, const Term& y, const Term& size) {
  Term zero = x.number(0), one = x.number(1), half = y * y.number(0.5);
  Term isFraction = of<mlir::math::FloorOp>(y) != y;
  Term isOdd = of<mlir::math::FloorOp>(half) != half && y == of<mlir::math::FloorOp>(y);
  Term signedSize = isOdd.choose(size * one.withSignOf(x), size);
  Term isNegative = x < zero && x > x.number(-kInfinity);
  Term known = (isNegative && isFraction).choose(x.number(kNaN), signedSize);
  return (x == one).choose(one, (y == zero).choose(one, known));
}

/// exp(y log |x|), both as pairs: the logarithm's error grows with its product.
Term powerOf(const Term& x, const Term& y) {
  Term a = absolute(x);
  Term infinity = x.number(kInfinity);
  Term isInside = a > x.number(0) && a < infinity;
  Pair log = logarithmOf(pairOf(a));
  Term beyond = (a == x.number(0)).choose(-infinity, a);
  log = choose(isInside, log, pairOf(beyond));
  Pair product = productOf(y, log.high);
  product.low = fused(y, log.low, product.low);
  Term size = valueOf(exponentialOf(product));
  return withPowersSign(x, y, (a == x.number(1)).choose(a, size));
}

Term errorFunction(const Term& x) {
  Term a = absolute(x).atMost(6);
  Term below = errorFunctionBelow(a);
  return (a < x.number(1)).choose(below, errorFunctionAbove(a)).withSignOf(x);
}

Term hyperbolicSine(const Term& x) {
  Exponential e = exponentialOf(pairOf(absolute(x)));
  Term grown = minusOne(e);
  Term both = (grown + grown / (grown + x.number(1))) * x.number(0.5);
  return (absolute(x) > x.number(kOneSided)).choose(valueOf(e, -1), both).withSignOf(x);
}

Term hyperbolicCosine(const Term& x) {
  Exponential e = exponentialOf(pairOf(absolute(x)));
  Term value = valueOf(e);
  Term both = (value + x.number(1) / value) * x.number(0.5);
  return (absolute(x) > x.number(kOneSided)).choose(valueOf(e, -1), both);
}

Term hyperbolicTangent(const Term& x) {
  Term twice = absolute(x).atMost(kOneSided) * x.number(2);
  Term grown = minusOne(exponentialOf(pairOf(twice)));
  return (grown / (grown + x.number(2))).withSignOf(x);
}

Term areaSine(const Term& x) {
  Term a = absolute(x);
  Term result = logarithmOfSum(a, squareRoot(productOf(a, a) + pairOf(x.number(1))));
  return smallStays(x, (a < x.number(kInfinity)).choose(result, a).withSignOf(x));
}

Term areaCosine(const Term& x) {
  Term one = x.number(1);
  Term result = logarithmOfSum(x, squareRoot(pairOf(x - one) * sumOf(x, one)));
  Term ends = (x == one).choose(x.number(0), (x > one).choose(x, x.number(kNaN)));
  return (x > one && x < x.number(kInfinity)).choose(result, ends);
}

Term areaTangent(const Term& x) {
  Term a = absolute(x), one = x.number(1);
  Term result = logarithmOf(sumOf(one, a) / sumOf(one, -a)).rounded() * x.number(0.5);
  Term ends = (a == one).choose(x.number(kInfinity), x.number(kNaN));
  return smallStays(x, (a < one).choose(result, ends).withSignOf(x));
}

}  // namespace graphrun::devices::codegen
