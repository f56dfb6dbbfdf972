// The trigonometric functions of f64 and their inverses.
#include <array>
#include <limits>
#include <numbers>

#include "devices/codegen/double_forms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace graphrun::devices::codegen {
namespace {

// Pi / 2 as a sum.
constexpr double kQuarter = 0x1.921fb54442d18p+0, kQuarterRest = 0x1.1a62633145c07p-54,
                 kQuarterLast = -0x1.f1976b7ed8fbcp-110;
constexpr double kRounding = 0x1.8p52;  // brings a number's whole part into its last bits
constexpr double kLarge = 0x1p30;       // from here on three parts of pi / 2 are too few

/// The bits of 2 / pi, behind 64 zeros.
constexpr std::array<uint64_t, 20> kTwoOverPi = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/// x = quarters pi / 2 + rest, |rest| up to pi / 4 and a little. Of `quarters` the last two bits
/// count.
struct Angle {
  Word quarters;
  Pair rest;
};

/// Cody and Waite's reduction: the first product's difference is exact.
Angle smallAngle(const Term& x) {
  Term shifted = fused(x, x.number(2 / std::numbers::pi), x.number(kRounding));
  Term count = shifted - x.number(kRounding);
  Term first = fused(-count, x.number(kQuarter), x);
  Pair second = productOf(count, x.number(kQuarterRest));
  Pair rest = sumOf(first, -second.high);
  Term low = fused(-count, x.number(kQuarterLast), rest.low - second.low);
  return {bitsOf(shifted), sumOf(rest.high, low)};
}

/// Word `index` and the three behind it, of the table.
std::array<Word, 4> wordsFrom(const Word& index) {
  std::vector<Word> words;
  words.reserve(kTwoOverPi.size());
  for (uint64_t word : kTwoOverPi) {
    words.push_back(index.number(static_cast<int64_t>(word)));
  }
  for (int64_t step : {16, 8, 4, 2, 1}) {
    Term stays = (index & index.number(step)) == 0;
    for (size_t i = 0; i < words.size(); ++i) {
      size_t from = std::min(i + static_cast<size_t>(step), words.size() - 1);
      words[i] = {stays.choose(words[i].term, words[from].term)};
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

/// The product of unsigned numbers: low, then high.
std::array<Word, 2> wideProduct(const Word& x, const Word& y) {
  auto product =
      x.term.builder->create<mlir::arith::MulUIExtendedOp>(x.term.loc, x.term.value, y.term.value);
  return {x.with(product.getLow()), x.with(product.getHigh())};
}

/// 1 where an unsigned sum is below what was added.
Word carryOf(const Word& sum, const Word& part) {
  Term carries = sum.term.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ult, sum.term.value,
                                                    part.term.value);
  return {carries.choose(sum.number(1).term, sum.number(0).term)};
}

/// Payne and Hanek, "Radian reduction for trigonometric functions" (1983): of the product of x's
/// 53 bits with 2 / pi, only the bits that are turns' fractions. x is finite and at least 2^30.
Angle largeAngle(const Term& x) {
  Word bits = bitsOf(x);
  Word exponent = bits.unsignedShift(52) & bits.number(0x7ff);
  Word digits = (bits & bits.number((int64_t{1} << 52) - 1)) | bits.number(int64_t{1} << 52);
  // Turns are quarters of 2 / pi's multiples: with 1075 for the digits, and the 64 zeros, 1013.
  Word position = exponent - bits.number(1013);
  std::array<Word, 4> words = wordsFrom(position.unsignedShift(6));
  Word offset = position & position.number(63);
  auto shifted = [&](const Word& high, const Word& low) {
    Word left = high.make<mlir::arith::ShLIOp>(offset);
    Word right = low.unsignedShift(1).make<mlir::arith::ShRUIOp>(offset.number(63) - offset);
    return left | right;
  };
  std::array<Word, 2> middle = wideProduct(digits, shifted(words[1], words[2]));
  std::array<Word, 2> last = wideProduct(digits, shifted(words[2], words[3]));
  Word low = middle[0] + last[1];
  Word high = digits * shifted(words[0], words[1]) + middle[1] + carryOf(low, last[1]);
  Word quarters = (high + high.number(int64_t{1} << 61)).unsignedShift(62);
  // Signed parts of the rest: the lower one's first bit is carried.
  Word upper = high - (quarters << 62) + low.unsignedShift(63);
  Term first = upper.asFloat();
  Word left =
      upper -
      upper.with(first.make<mlir::arith::FPToSIOp>(upper.term.value.getType(), first.value).value);
  Pair turns = sumOf(first, fused(low.asFloat(), first.number(0x1p-64), left.asFloat()));
  Pair rest = turns * turns.number(0x1.921fb54442d18p-62, 0x1.1a62633145c07p-116);
  Term isNegative = x < x.number(0);
  return {Word{isNegative.choose((quarters.number(0) - quarters).term, quarters.term)},
          choose(isNegative, -rest, rest)};
}

Angle choose(const Term& condition, const Angle& x, const Angle& y) {
  return {Word{condition.choose(x.quarters.term, y.quarters.term)},
          choose(condition, x.rest, y.rest)};
}

/// The long way is taken only where one of the vector's numbers is large.
Angle angleOf(const Term& x) {
  Angle small = smallAngle(x);
  Term size = absolute(x);
  Term isLarge =
      size > x.number(kLarge) && size < x.number(std::numeric_limits<double>::infinity());
  auto yields = [](mlir::OpBuilder& builder, mlir::Location loc, const Angle& angle) {
    builder.create<mlir::scf::YieldOp>(
        loc,
        mlir::ValueRange{angle.quarters.term.value, angle.rest.high.value, angle.rest.low.value});
  };
  auto branch = x.builder->create<mlir::scf::IfOp>(
      x.loc, anyOf(isLarge).value,
      [&](mlir::OpBuilder& builder, mlir::Location loc) {
        Term inside{&builder, loc, x.value};
        yields(builder, loc, choose(inside.with(isLarge.value), largeAngle(inside), small));
      },
      [&](mlir::OpBuilder& builder, mlir::Location loc) { yields(builder, loc, small); });
  return {Word{x.with(branch.getResult(0))},
          {x.with(branch.getResult(1)), x.with(branch.getResult(2))}};
}

/// Coefficients of a power series: 1 / first!, then with other signs the factorials of every second
/// number.
template <size_t kCount>
std::array<double, kCount> alternating(int first) {
  std::array<double, kCount> series;
  double factorial = 1;
  int next = 1;
  for (size_t i = 0; i < kCount; ++i) {
    for (; next <= first + 2 * static_cast<int>(i); ++next) {
      factorial *= next;
    }
    series[i] = (i % 2 == 0 ? 1 : -1) / factorial;
  }
  return series;
}

/// Series up to pi / 4, of which less than 2^-58 is left out.
Term sineNear(const Pair& r) {
  Term square = r.high * r.high;
  Term beyond = square * r.high * polynomial(square, alternating<8>(3));
  Term half = square * r.high.number(0.5);
  return r.high + (fused(-r.low, half, r.low) - beyond);
}

Term cosineNear(const Pair& r) {
  Term square = r.high * r.high;
  Pair half = quickSum(r.high.number(1), -(square * r.high.number(0.5)));
  Term beyond = square * square * polynomial(square, alternating<8>(4));
  return half.high + (half.low + fused(-r.low, r.high, beyond));
}

/// sin(x + quarters pi / 2).
Term sineOf(const Angle& angle, int64_t quarters) {
  Word turned = angle.quarters + angle.quarters.number(quarters);
  Term isSine = (turned & turned.number(1)) == 0;
  Term isPositive = (turned & turned.number(2)) == 0;
  Term value = isSine.choose(sineNear(angle.rest), cosineNear(angle.rest));
  return isPositive.choose(value, -value);
}

/// Around which the arc tangent is developed: 0, tangents of about pi / 8, pi / 4 and 3 pi / 8, and
/// beyond `limit`s the next.
struct Centre {
  double limit, tangent, angle, rest;
};
constexpr Centre kCentres[] = {{0.1989, 0, 0, 0},
                               {0.6682, 0.4140625, 0x1.91fde7cd0c662p-2, 0x1.1074188054b53p-56},
                               {1.4966, 1, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
                               {5.0273, 2.4140625, 0x1.2d9654c66566fp+0, 0x1.7bebc063c8655p-54}};

/// atan of a positive number a: the angle of a centre c and atan of t = (a - c) / (1 + a c), or of
/// -1 / a, by its series, of which less than 2^-60 is left out.
Pair arcTangentOf(const Pair& a) {
  Pair one = a.number(1);
  Pair top = -one, bottom = a, angle = a.number(kQuarter, kQuarterRest);
  for (const Centre& centre : llvm::reverse(kCentres)) {
    Pair tangent = a.number(centre.tangent);
    Term isNear = a.high < a.high.number(centre.limit);
    top = choose(isNear, a - tangent, top);
    bottom = choose(isNear, one + a * tangent, bottom);
    angle = choose(isNear, a.number(centre.angle, centre.rest), angle);
  }
  Pair t = top / bottom;
  std::array<double, 13> series;  // -1/3, 1/5, …
  for (size_t i = 0; i < series.size(); ++i) {
    series[i] = (i % 2 == 0 ? -1.0 : 1.0) / static_cast<double>(2 * i + 3);
  }
  Term square = t.high * t.high;
  Term beyond = square * t.high * polynomial(square, series);
  return angle + quickSum(t.high, t.low + beyond);
}

/// |x| up to 1/2: its own arc sine; else that of the root of (1 - |x|) / 2, which is half of what
/// is left to pi / 2.
struct ArcSine {
  Term isSmall;
  Pair angle;
};
ArcSine arcSineOf(const Term& x) {
  Term a = absolute(x);
  Term isSmall = a < x.number(0.5);
  Pair root = squareRoot(pairOf((x.number(1) - a) * x.number(0.5)));
  Pair y = choose(isSmall, pairOf(a), root);
  Pair other = squareRoot(y.number(1) - y * y);
  return {isSmall, arcTangentOf(y / other)};
}

}  // namespace

Term sine(const Term& x) { return (x == x.number(0)).choose(x, sineOf(angleOf(x), 0)); }

Term cosine(const Term& x) { return sineOf(angleOf(x), 1); }

Term tangentOf(const Term& x) {
  Angle angle = angleOf(x);
  Term isTangent = (angle.quarters & angle.quarters.number(1)) == 0;
  Term sine = sineNear(angle.rest), cosine = cosineNear(angle.rest);
  Term value = isTangent.choose(sine, -cosine) / isTangent.choose(cosine, sine);
  return (x == x.number(0)).choose(x, value);
}

Term arcSine(const Term& x) {
  ArcSine arc = arcSineOf(x);
  Pair quarter = arc.angle.number(kQuarter, kQuarterRest);
  return choose(arc.isSmall, arc.angle, quarter - arc.angle.scaled(2)).rounded().withSignOf(x);
}

Term arcCosine(const Term& x) {
  ArcSine arc = arcSineOf(x);
  Pair quarter = arc.angle.number(kQuarter, kQuarterRest);
  Term isNegative = x < x.number(0);
  Pair twice = arc.angle.scaled(2);
  Pair small = choose(isNegative, quarter + arc.angle, quarter - arc.angle);
  Pair large = choose(isNegative, quarter.scaled(2) - twice, twice);
  return choose(arc.isSmall, small, large).rounded();
}

/// The least numbers' quotients would lose digits; from 2^100 on it is pi / 2.
Term arcTangent(const Term& x) {
  Term a = absolute(x).atMost(0x1p100);
  Term result = arcTangentOf(pairOf(a)).rounded().withSignOf(x);
  return (a < a.number(0x1p-60)).choose(x, result);
}

}  // namespace graphrun::devices::codegen
