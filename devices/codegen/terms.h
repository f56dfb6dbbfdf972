// Values with the operators of arithmetic, in which kernels' functions are written.
#ifndef GRAPHRUN_DEVICES_CODEGEN_TERMS_H_
#define GRAPHRUN_DEVICES_CODEGEN_TERMS_H_

#include <cstdint>

#include "devices/codegen/scalar_emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace graphrun::devices::codegen {

/// `element`, or a vector of it where the type `like` is one.
mlir::Type withShapeOf(mlir::Type like, mlir::Type element);

/// A float or a condition, scalar or vector; operators emit operations, which round as IEEE 754
/// says and are never joined.
struct Term {
  using Condition = Term;

  mlir::OpBuilder* builder;
  mlir::Location loc;
  mlir::Value value;

  Term with(mlir::Value other) const { return {builder, loc, other}; }
  Term number(double x) const { return with(emitConstant(*builder, loc, value.getType(), x)); }
  template <typename Op, typename... Args>
  Term make(Args... args) const {
    return with(builder->create<Op>(loc, args...));
  }
  Term operator+(const Term& y) const { return make<mlir::arith::AddFOp>(value, y.value); }
  Term operator-(const Term& y) const { return make<mlir::arith::SubFOp>(value, y.value); }
  Term operator*(const Term& y) const { return make<mlir::arith::MulFOp>(value, y.value); }
  Term operator/(const Term& y) const { return make<mlir::arith::DivFOp>(value, y.value); }
  Term operator-() const { return make<mlir::arith::NegFOp>(value); }
  Term of(mlir::arith::CmpFPredicate predicate, const Term& y) const {
    return make<mlir::arith::CmpFOp>(predicate, value, y.value);
  }
  // Comparisons are false for NaN, != is true.
  Term operator>(const Term& y) const { return of(mlir::arith::CmpFPredicate::OGT, y); }
  Term operator<(const Term& y) const { return of(mlir::arith::CmpFPredicate::OLT, y); }
  Term operator==(const Term& y) const { return of(mlir::arith::CmpFPredicate::OEQ, y); }
  Term operator!=(const Term& y) const { return of(mlir::arith::CmpFPredicate::UNE, y); }
  Term operator&&(const Term& y) const { return make<mlir::arith::AndIOp>(value, y.value); }
  /// This condition's choice.
  Term choose(const Term& x, const Term& y) const {
    return make<mlir::arith::SelectOp>(value, x.value, y.value);
  }
  Term withSignOf(const Term& x) const { return make<mlir::math::CopySignOp>(value, x.value); }
  /// At most `most`; NaN stays.
  Term atMost(double most) const { return (*this > number(most)).choose(number(most), *this); }
  Term atLeast(double least) const { return (*this < number(least)).choose(number(least), *this); }
};

template <typename Op>
Term of(const Term& x) {
  return x.make<Op>(x.value);
}

inline Term absolute(const Term& x) { return of<mlir::math::AbsFOp>(x); }

/// Returns whether a condition holds for a scalar, or for any of a vector's.
Term anyOf(const Term& condition);

/// x * y + z, rounded once.
inline Term fused(const Term& x, const Term& y, const Term& z) {
  return x.make<mlir::math::FmaOp>(x.value, y.value, z.value);
}

/// The sum of coefficients[i] x^i.
Term polynomial(const Term& x, llvm::ArrayRef<double> coefficients);

inline Term squareRoot(const Term& x) { return of<mlir::math::SqrtOp>(x); }
/// The nearest whole number, of two the even one.
inline Term wholeOf(const Term& x) { return of<mlir::math::RoundEvenOp>(x); }

/// Functions of f64: the C library's, or double_forms.h where there is none.
inline Term expOf(const Term& x) { return of<mlir::math::ExpOp>(x); }
inline Term expm1Of(const Term& x) { return of<mlir::math::ExpM1Op>(x); }
inline Term log1pOf(const Term& x) { return of<mlir::math::Log1pOp>(x); }

/// f32 as f64, and back, rounded.
Term wide(const Term& x);
Term narrow(const Term& x);

/// `rare(x)` where `condition` holds, else `usual`: the rare way is gone only where a vector needs
/// it.
Term whereRare(const Term& condition, const Term& usual, const Term& x,
               llvm::function_ref<Term(const Term&)> rare);

/// An integer of 64 or 32 bits, scalar or vector.
struct Word {
  Term term;

  Word number(int64_t x) const;
  Word with(mlir::Value other) const { return {term.with(other)}; }
  template <typename Op>
  Word make(const Word& y) const {
    return {term.make<Op>(term.value, y.term.value)};
  }
  Word operator+(const Word& y) const { return make<mlir::arith::AddIOp>(y); }
  Word operator-(const Word& y) const { return make<mlir::arith::SubIOp>(y); }
  Word operator*(const Word& y) const { return make<mlir::arith::MulIOp>(y); }
  Word operator&(const Word& y) const { return make<mlir::arith::AndIOp>(y); }
  Word operator|(const Word& y) const { return make<mlir::arith::OrIOp>(y); }
  Word operator<<(int64_t by) const { return make<mlir::arith::ShLIOp>(number(by)); }
  /// Shifts in copies of the sign, or zeros.
  Word operator>>(int64_t by) const { return make<mlir::arith::ShRSIOp>(number(by)); }
  Word unsignedShift(int64_t by) const { return make<mlir::arith::ShRUIOp>(number(by)); }
  Word atMost(int64_t most) const { return make<mlir::arith::MinSIOp>(number(most)); }
  Word atLeast(int64_t least) const { return make<mlir::arith::MaxSIOp>(number(least)); }
  Term operator==(int64_t y) const;
  /// The number as a float of its size.
  Term asFloat() const;
};

/// The bits of a float, and the float of bits.
Word bitsOf(const Term& x);
Term floatOf(const Word& bits);
/// 2^power of f64, for powers in [-1022, 1023].
Term powerOfTwo(const Word& power);

/// A number as the sum of two f64: about 106 bits (Dekker, "A floating-point technique for
/// extending the available precision", 1971). `low` is at most half a unit in the last place of
/// `high`.
struct Pair {
  Term high, low;

  Pair number(double x, double rest = 0) const { return {high.number(x), high.number(rest)}; }
  Pair operator+(const Pair& y) const;
  Pair operator-() const { return {-high, -low}; }
  Pair operator-(const Pair& y) const { return *this + -y; }
  Pair operator*(const Pair& y) const;
  Pair operator/(const Pair& y) const;
  /// Times a power of two.
  Pair scaled(double factor) const;
  /// Rounded to one f64.
  Term rounded() const { return high + low; }
};

/// x as a pair.
Pair pairOf(const Term& x);
/// The exact sum of any two numbers (Knuth), or of two of which the first is the greater or zero.
Pair sumOf(const Term& x, const Term& y);
Pair quickSum(const Term& x, const Term& y);
/// The exact product.
Pair productOf(const Term& x, const Term& y);
Pair squareRoot(const Pair& x);
Pair choose(const Term& condition, const Pair& x, const Pair& y);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_TERMS_H_
