#include "devices/codegen/scalar_loops.h"

#include <limits>

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace graphrun::devices::codegen {
namespace {

namespace arith = mlir::arith;

using Values = llvm::SmallVector<mlir::Value>;

/// Repeats `body` of the values while `condition` of them holds for any lane.
mlir::ValueRange repeatWhile(
    mlir::OpBuilder& builder, mlir::Location loc, const Values& values,
    llvm::function_ref<mlir::Value(mlir::OpBuilder&, mlir::ValueRange)> condition,
    llvm::function_ref<Values(mlir::OpBuilder&, mlir::ValueRange)> body) {
  auto loop = builder.create<mlir::scf::WhileOp>(
      loc, mlir::ValueRange(values).getTypes(), values,
      [&](mlir::OpBuilder& inner, mlir::Location at, mlir::ValueRange current) {
        Term active{&inner, at, condition(inner, current)};
        inner.create<mlir::scf::ConditionOp>(at, anyOf(active).value, current);
      },
      [&](mlir::OpBuilder& inner, mlir::Location at, mlir::ValueRange current) {
        inner.create<mlir::scf::YieldOp>(at, body(inner, current));
      });
  return loop.getResults();
}

/// Digits are the power of two that a positive number's first digit stands for, and that digit with
/// the others, in [1, 2).
struct Digits {
  Word power;
  Term fraction;
};
Digits digitsOf(const Term& x) {
  constexpr int64_t kLift = 54;  // brings the least numbers among the normal ones
  Term isSmall = x < x.number(std::numeric_limits<double>::min());
  Word bits = bitsOf(isSmall.choose(x * x.number(0x1p54), x));
  Word power = bits.unsignedShift(52) - bits.number(1023);
  Word unlifted = power - power.number(kLift);
  return {Word{isSmall.choose(unlifted.term, power.term)}, floatOf(bits - (power << 52))};
}

/// Returns the remainder of `rest` without multiples of s = y 2^n, n as small as quotients of 52
/// bits allow: both are multiples of the last digit of s, so nothing is rounded.
Term withoutMultiples(const Term& rest, const Digits& y) {
  Word least = digitsOf(rest).power - y.power.number(51);
  Word power = least.make<arith::MaxSIOp>(y.power);
  Word half = power >> 1;
  Term multiple = rest.with(y.fraction.value) * powerOfTwo(half) * powerOfTwo(power - half);
  Term quotient = of<mlir::math::TruncOp>(rest / multiple);
  Term left = fused(-quotient, multiple, rest);
  return (left < left.number(0)).choose(left + multiple, left);
}

}  // namespace

Term restOfDivision(const Term& x, const Term& y) {
  Term dividend = absolute(x), divisor = absolute(y);
  Term infinity = x.number(std::numeric_limits<double>::infinity());
  Term isDefined = dividend < infinity && divisor > divisor.number(0);
  Digits digits = digitsOf(divisor);
  auto within = [](mlir::OpBuilder& builder, const Term& term) {
    return Term{&builder, term.loc, term.value};
  };
  auto isLeft = [&](const Term& rest) {
    Term fits = rest.of(arith::CmpFPredicate::OGE, within(*rest.builder, divisor));
    return fits && isDefined;
  };
  mlir::Value rest = repeatWhile(
      *x.builder, x.loc, {dividend.value},
      [&](mlir::OpBuilder& builder, mlir::ValueRange current) {
        return isLeft({&builder, x.loc, current[0]}).value;
      },
      [&](mlir::OpBuilder& builder, mlir::ValueRange current) -> Values {
        Term before{&builder, x.loc, current[0]};
        Digits inside{{within(builder, digits.power.term)}, within(builder, digits.fraction)};
        return {isLeft(before).choose(withoutMultiples(before, inside), before).value};
      })[0];
  return isDefined.choose(x.with(rest).withSignOf(x),
                          x.number(std::numeric_limits<double>::quiet_NaN()));
}

/// By squares: a factor for each bit of the exponent.
mlir::Value wholePower(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value x, mlir::Value y,
                       bool isUnsigned) {
  using Predicate = arith::CmpIPredicate;
  auto constant = [&](double value) { return emitConstant(builder, loc, x.getType(), value); };
  mlir::Value zero = constant(0), one = constant(1);
  auto compare = [&](mlir::OpBuilder& b, Predicate predicate, mlir::Value a, mlir::Value c) {
    return b.create<arith::CmpIOp>(loc, predicate, a, c).getResult();
  };
  mlir::Value size = repeatWhile(
      builder, loc, {one, x, y},
      [&](mlir::OpBuilder& b, mlir::ValueRange current) {
        return compare(b, isUnsigned ? Predicate::ugt : Predicate::sgt, current[2], zero);
      },
      [&](mlir::OpBuilder& b, mlir::ValueRange current) -> Values {
        mlir::Value bit = b.create<arith::AndIOp>(loc, current[2], one);
        mlir::Value grown = b.create<arith::MulIOp>(loc, current[0], current[1]);
        mlir::Value hasBit = compare(b, Predicate::ne, bit, zero);
        return {b.create<arith::SelectOp>(loc, hasBit, grown, current[0]),
                b.create<arith::MulIOp>(loc, current[1], current[1]),
                b.create<arith::ShRUIOp>(loc, current[2], one)};
      })[0];
  if (isUnsigned) {
    return size;
  }
  // The numbers whose inverse is whole are 1 and -1, of which it is the number itself.
  auto select = [&](mlir::Value condition, mlir::Value a, mlir::Value b) -> mlir::Value {
    return builder.create<arith::SelectOp>(loc, condition, a, b);
  };
  mlir::Value isOdd =
      compare(builder, Predicate::ne, builder.create<arith::AndIOp>(loc, y, one), zero);
  mlir::Value inverse =
      select(compare(builder, Predicate::eq, x, constant(-1)), select(isOdd, x, one),
             select(compare(builder, Predicate::eq, x, one), one, zero));
  return select(compare(builder, Predicate::slt, y, zero), inverse, size);
}

}  // namespace graphrun::devices::codegen
