// Functions of f32 that are computed in f64 and rounded once: angles, hyperbolic functions, powers.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_WIDE_FUNCTIONS_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_WIDE_FUNCTIONS_H_

#include "devices/functions/exponentials.h"

namespace graphrun::devices::functions {

// What follows in this part is of f64, W; its errors are some 2^-31 of the result.

inline constexpr double kQuarter = 0x1.921fb54442d18p+0, kQuarterRest = 0x1.1a62633145c07p-54;
inline constexpr double kWideRounding = 0x1.8p52;
inline constexpr int kWideFraction = 52;

#define GR_WIDE         \
  template <typename W> \
  [[gnu::always_inline]] inline

/// An angle without its quarters of a turn: up to pi / 4 and a little. The last two bits are the
/// number of quarters.
GR_WIDE W angleOf(const W& rest, const W& count) {
  auto quarters = bitsOf(count + count.number(kWideRounding));
  return floatOf((bitsOf(rest) & quarters.number(-4)) + (quarters & quarters.number(3)));
}

/// Cody and Waite's reduction, for angles up to 2^44: the first product's difference is exact.
GR_WIDE W smallAngle(const W& x) {
  constexpr double kPerQuarter = 0x1.45f306dc9c883p-1;
  W count = fused(x, x.number(kPerQuarter), x.number(kWideRounding)) - x.number(kWideRounding);
  W rest = fused(count, x.number(-kQuarter), x);
  return angleOf(fused(count, x.number(-kQuarterRest), rest), count);
}

/// Payne and Hanek, "Radian reduction for trigonometric functions" (1983), in floats: the product
/// with each 29 bits of 1 / (2 pi) is exact, and whole turns are dropped from it. Finite f32 from
/// 2^44 on, whose products with the bits before these are whole.
GR_WIDE W largeAngle(const W& x) {
  constexpr double kPerTurn[] = {0x1.06dc9c8p-19,  0x1.054a7fp-48,   0x1.3abe8fap-77,
                                 0x1.34ddc0dp-106, 0x1.6c52b32p-135, 0x1.e21c82p-165};
  W sum = x.number(0), lost = sum;
  for (double part : kPerTurn) {
    W turns = x * x.number(part);
    turns = turns - wholeOf(turns);
    W next = sum + turns;  // and what it loses (Knuth)
    W added = next - sum;
    lost = lost + ((sum - (next - added)) + (turns - added));
    sum = next;
  }
  W quarters = sum * x.number(4);
  W count = wholeOf(quarters);
  W rest = fused(lost, x.number(4), quarters - count);
  return angleOf(rest * x.number(kQuarter), count);
}

GR_WIDE W reducedAngle(const W& x) {
  constexpr double kLarge = 0x1p44;
  auto isLarge = absolute(x) > x.number(kLarge);
  return whereRare(isLarge, smallAngle(x), x,
                   [](const W& large) __attribute__((always_inline)) { return largeAngle(large); });
}

GR_WIDE W sineNear(const W& r) {
  constexpr double kSeries[] = {-0x1.55555553bc98bp-3, 0x1.11110c7feedd8p-7, -0x1.a011d711e4130p-13,
                                0x1.6d30df014d934p-19};
  W square = r * r;
  return fused(r * square, series(square, kSeries), r);
}
GR_WIDE W cosineNear(const W& r) {
  constexpr double kSeries[] = {1,
                                -0.5,
                                0x1.55555554ccde7p-5,
                                -0x1.6c16be5f8a8a6p-10,
                                0x1.a0148e2dcf68dp-16,
                                -0x1.24c602732f18dp-22};
  return series(r * r, kSeries);
}

/// sin(x + quarters pi / 2).
GR_WIDE W sineOfAngle(const W& x, int64_t quarters) {
  W rest = reducedAngle(x);
  auto turned = bitsOf(rest) + bitsOf(rest).number(quarters);
  W value = ((turned & turned.number(1)) == 0).choose(sineNear(rest), cosineNear(rest));
  return ((turned & turned.number(2)) == 0).choose(value, -value);
}

GR_WIDE W tangentOfAngle(const W& x) {
  W rest = reducedAngle(x);
  auto isTangent = (bitsOf(rest) & bitsOf(rest).number(1)) == 0;
  W sine = sineNear(rest), cosine = cosineNear(rest);
  return isTangent.choose(sine, -cosine) / isTangent.choose(cosine, sine);
}

/// Computes the arc tangent of positive a; beyond 1 what is left to pi / 2 is the arc tangent of 1
/// / a.
GR_WIDE W arcTangentOf(const W& a) {
  constexpr double kSeries[] = {0x1.fffffffcce800p-1,  -0x1.55554f06bd37fp-2, 0x1.999786f246879p-3,
                                -0x1.246feb93fed8ap-3, 0x1.c4cad84270870p-4,  -0x1.6865cf4cdfbcdp-4,
                                0x1.13177f4d09f88p-4,  -0x1.6b6073973ab54p-5, 0x1.6cf1857324cefp-6,
                                -0x1.d7d1de5aa2066p-8, 0x1.1e076fff04e8ap-10};
  W one = a.number(1);
  auto isLarge = a > one;
  W t = isLarge.choose(one, a) / isLarge.choose(a, one);
  W angle = t * series(t * t, kSeries);
  return isLarge.choose(a.number(kQuarter) - angle, angle);
}

/// Computes the arc sine of x up to 1/2.
GR_WIDE W arcSineNear(const W& x) {
  constexpr double kSeries[] = {0x1.5555555cea599p-3, 0x1.33331cbcedcb9p-4, 0x1.6dc1b37432eaep-5,
                                0x1.efd3b01835cf2p-6, 0x1.83a76bfb18d0ap-6, 0x1.54ca08416f2c2p-7,
                                0x1.ff51cd61175f8p-6};
  W square = x * x;
  return fused(x * square, series(square, kSeries), x);
}

/// |x| beyond 1/2: half of what is left to pi / 2 has the sine root((1 - |x|) / 2).
template <typename W>
struct ArcSine {
  typename W::Condition isSmall;
  W angle;
};
GR_WIDE ArcSine<W> arcSineOf(const W& size) {
  auto isSmall = size < size.number(0.5);
  W root = squareRoot((size.number(1) - size) * size.number(0.5));
  return {isSmall, arcSineNear(isSmall.choose(size, root))};
}

template <typename W>
struct WideExponential {
  W rest, power;  ///< e^x = power (1 + rest)
};
/// Computes the exponential of what f32 does not overflow at, and somewhat more.
GR_WIDE WideExponential<W> wideExponential(const W& x) {
  constexpr double kMost = 300, kLog2OfE = 0x1.71547652b82fep+0, kLog2Wide = 0x1.62e42fefa39efp-1;
  constexpr double kGrowth[] = {0x1.fffffffffc02ep-2, 0x1.555555677452bp-3,  0x1.5555556f36893p-5,
                                0x1.1110c5d7ff345p-7, 0x1.6c1651ad9f78bp-10, 0x1.a15234b056b3dp-13,
                                0x1.a15b1bdb264e5p-16};
  W limited = x.atMost(kMost).atLeast(-kMost);
  W shifted = fused(limited, x.number(kLog2OfE), x.number(kWideRounding));
  W r = fused(shifted - x.number(kWideRounding), x.number(-kLog2Wide), limited);
  auto bits = bitsOf(shifted) << kWideFraction;
  return {fused(r * r, series(r, kGrowth), r),
          floatOf(bits + bits.number(int64_t{1023} << kWideFraction))};
}
GR_WIDE W exponentialOf(const W& x) {
  WideExponential<W> e = wideExponential(x);
  return fused(e.rest, e.power, e.power);
}
/// e^x - 1.
GR_WIDE W growthOf(const W& x) {
  WideExponential<W> e = wideExponential(x);
  return fused(e.rest, e.power, e.power - x.number(1));
}

/// log(1 + f) = 2 artanh(s) with s = f / (2 + f), where |f| is up to 1/3.
GR_WIDE W wideLogarithmNear(const W& f) {
  constexpr double kSeries[] = {0x1.ffffffffff9c8p+0, 0x1.5555555ac090bp-1, 0x1.99998d5c67f0ep-2,
                                0x1.249754e91b4cep-2, 0x1.c53cf324a862fp-3, 0x1.9cf078fdbf766p-3};
  W s = f / (f.number(2) + f);
  return s * series(s * s, kSeries);
}

/// log(sum), where sum is 1 + x rounded, or log(x) where x is not given. Normal and finite.
GR_WIDE W wideLogarithm(const W& sum, const W* x = nullptr) {
  auto bits = bitsOf(sum);
  auto power = (bits - bits.number(0x3fe5555555555555)) >> kWideFraction;  // from 2/3 on
  W f = floatOf(bits - (power << kWideFraction)) - sum.number(1);
  W y = wideLogarithmNear(x == nullptr ? f : (power == 0).choose(*x, f));
  return fused(power.asFloat(), sum.number(0x1.62e42fefa39efp-1), y);
}
GR_WIDE W wideLogarithmOfOnePlus(const W& x) { return wideLogarithm(x.number(1) + x, &x); }

#undef GR_WIDE

// Of f32.

GR_FUNCTION T sine(const T& x) {
  return (x == x.number(0)).choose(x, narrow(sineOfAngle(wide(x), 0)));
}
GR_FUNCTION T cosine(const T& x) { return narrow(sineOfAngle(wide(x), 1)); }
GR_FUNCTION T tangent(const T& x) {
  return (x == x.number(0)).choose(x, narrow(tangentOfAngle(wide(x))));
}

GR_FUNCTION T arcTangent(const T& x) {
  return narrow(arcTangentOf(wide(absolute(x)))).withSignOf(x);
}
GR_FUNCTION T arcSine(const T& x) {
  auto y = wide(absolute(x));
  auto arc = arcSineOf(y);
  auto large = fused(arc.angle, y.number(-2), y.number(kQuarter));
  return narrow(arc.isSmall.choose(arc.angle, large)).withSignOf(x);
}
GR_FUNCTION T arcCosine(const T& x) {
  auto y = wide(x);
  auto arc = arcSineOf(wide(absolute(x)));
  auto isNegative = y < y.number(0);
  auto quarter = y.number(kQuarter), twice = arc.angle * y.number(2);
  auto small = quarter + isNegative.choose(arc.angle, -arc.angle);
  auto large = isNegative.choose(y.number(2 * kQuarter) - twice, twice);
  return narrow(arc.isSmall.choose(small, large));
}

GR_FUNCTION T hyperbolicSine(const T& x) {
  auto y = wide(absolute(x));
  auto grown = growthOf(y);
  auto sum = grown + grown / (grown + y.number(1));
  return narrow(sum * y.number(0.5)).withSignOf(x);
}
GR_FUNCTION T hyperbolicCosine(const T& x) {
  auto y = wide(absolute(x));
  auto e = exponentialOf(y);
  return narrow((e + y.number(1) / e) * y.number(0.5));
}

/// log(a + root(a^2 + 1)).
GR_FUNCTION T areaSine(const T& x) {
  auto a = wide(absolute(x)), one = a.number(1);
  auto root = squareRoot(fused(a, a, one));
  auto result = wideLogarithmOfOnePlus(a + a * a / (root + one));
  return narrow((a < a.number(kInfinite)).choose(result, a)).withSignOf(x);
}
/// log(x + root(x^2 - 1)).
GR_FUNCTION T areaCosine(const T& x) {
  auto a = wide(x), above = a - a.number(1);
  auto root = squareRoot(above * (a + a.number(1)));
  auto result = wideLogarithmOfOnePlus(above + root);
  auto ends = (a == a.number(1)).choose(a.number(0), a.number(kNoNumber));
  auto inside = (a < a.number(kInfinite)).choose(result, a);
  return narrow((a > a.number(1)).choose(inside, ends));
}
/// log((1 + a) / (1 - a)) / 2.
GR_FUNCTION T areaTangent(const T& x) {
  auto a = wide(absolute(x)), one = a.number(1);
  auto ratio = a * a.number(2) / (one - a);
  auto result = wideLogarithmOfOnePlus(ratio) * a.number(0.5);
  auto ends = (a == one).choose(a.number(kInfinite), a.number(kNoNumber));
  return narrow((a < one).choose(result, ends)).withSignOf(x);
}

/// e^(y log |x|), with the sign and the exceptions of C's pow.
GR_FUNCTION T power(const T& base, const T& exponent) {
  auto x = wide(base), y = wide(exponent);
  auto zero = x.number(0), one = x.number(1), infinity = x.number(kInfinite);
  auto a = absolute(x), half = y * y.number(0.5);
  auto inside = (a < infinity).choose(wideLogarithm(a), a);
  auto logarithm = (a == zero).choose(-infinity, inside);
  auto size = (a == one).choose(one, exponentialOf(y * logarithm));
  // Of whole numbers, an odd one's half is none; a fraction of a negative number is none either.
  auto ofFraction = (x < zero).choose((a < infinity).choose(x.number(kNoNumber), size), size);
  auto ofWhole = (wholeOf(half) == half).choose(size, size.withSignOf(x));
  auto known = (wholeOf(y) == y).choose(ofWhole, ofFraction);
  return narrow((x == one).choose(one, (y == zero).choose(one, known)));
}

}  // namespace graphrun::devices::functions

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_WIDE_FUNCTIONS_H_
