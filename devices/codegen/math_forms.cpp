#include "devices/codegen/math_forms.h"

#include <limits>
#include <numbers>

#include "devices/codegen/scalar_emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::codegen {
namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;

/// A value with the arithmetic of floats.
struct Term {
  mlir::OpBuilder* builder;
  mlir::Location loc;
  mlir::Value value;

  Term with(mlir::Value other) const { return {builder, loc, other}; }
  Term number(double x) const { return with(emitConstant(*builder, loc, value.getType(), x)); }
  template <typename Op, typename... Args>
  Term make(Args... args) const {
    return with(builder->create<Op>(loc, args...));
  }
  Term operator+(const Term& y) const { return make<arith::AddFOp>(value, y.value); }
  Term operator-(const Term& y) const { return make<arith::SubFOp>(value, y.value); }
  Term operator*(const Term& y) const { return make<arith::MulFOp>(value, y.value); }
  Term operator/(const Term& y) const { return make<arith::DivFOp>(value, y.value); }
  Term of(arith::CmpFPredicate predicate, const Term& y) const {
    return make<arith::CmpFOp>(predicate, value, y.value);
  }
  Term operator>(const Term& y) const { return of(arith::CmpFPredicate::OGT, y); }
  Term operator<(const Term& y) const { return of(arith::CmpFPredicate::OLT, y); }
  Term operator==(const Term& y) const { return of(arith::CmpFPredicate::OEQ, y); }
  Term operator!=(const Term& y) const { return of(arith::CmpFPredicate::UNE, y); }
  /// This condition's choice.
  Term choose(const Term& x, const Term& y) const {
    return make<arith::SelectOp>(value, x.value, y.value);
  }
  Term withSignOf(const Term& x) const { return make<math::CopySignOp>(value, x.value); }
};

template <typename Op>
Term of(const Term& x) {
  return x.make<Op>(x.value);
}

/// The polynomial of a small negative number's sine loses its digits.
Term tangent(const Term& x) {
  Term a = of<math::AbsFOp>(x);
  return of<math::SinOp>(a) / of<math::CosOp>(a) * x.number(1).withSignOf(x);
}

/// exp(a) / 2, which is finite for some a whose exp(a) is not.
Term halfExp(const Term& a) {
  Term root = of<math::ExpOp>(a * a.number(0.5));
  return root * a.number(0.5) * root;
}

/// From here on exp(-a) does not count beside exp(a).
constexpr double kOneSided = 9;

Term sinh(const Term& x) {
  Term a = of<math::AbsFOp>(x);
  Term e = of<math::ExpM1Op>(a);
  Term both = (e + e / (e + x.number(1))) * x.number(0.5);
  return (a > x.number(kOneSided)).choose(halfExp(a), both).withSignOf(x);
}

Term cosh(const Term& x) {
  Term a = of<math::AbsFOp>(x);
  Term e = of<math::ExpOp>(a);
  Term both = (e + x.number(1) / e) * x.number(0.5);
  return (a > x.number(kOneSided)).choose(halfExp(a), both);
}

/// Larger numbers need no 1 beside their square, which may overflow.
constexpr double kLarge = 1e9;

Term logOfTwice(const Term& a) { return of<math::LogOp>(a) + a.number(std::numbers::ln2); }

Term asinh(const Term& x) {
  Term a = of<math::AbsFOp>(x);
  Term root = of<math::SqrtOp>(a * a + x.number(1));
  Term precise = of<math::Log1pOp>(a + a * a / (root + x.number(1)));
  return (a > x.number(kLarge)).choose(logOfTwice(a), precise).withSignOf(x);
}

Term acosh(const Term& x) {
  Term above = x - x.number(1);
  Term root = of<math::SqrtOp>(above * (x + x.number(1)));
  Term precise = of<math::Log1pOp>(above + root);
  return (x > x.number(kLarge)).choose(logOfTwice(x), precise);
}

Term atanh(const Term& x) {
  Term a = of<math::AbsFOp>(x);
  Term ratio = a * x.number(2) / (x.number(1) - a);
  return (of<math::Log1pOp>(ratio) * x.number(0.5)).withSignOf(x);
}

/// exp(y log |x|), with the sign and the exceptions of C's pow but for the sign of zeros.
Term power(const Term& x, const Term& y) {
  Term a = of<math::AbsFOp>(x);
  Term one = x.number(1);
  Term size = of<math::ExpOp>(y * of<math::LogOp>(a));
  size = (a == one).choose(one, (y == x.number(0)).choose(one, size));
  Term half = y * x.number(0.5);
  Term isFraction = of<math::FloorOp>(y) != y;
  Term isOdd = of<math::FloorOp>(half) != half;
  Term ofNegative = isFraction.choose(x.number(std::numeric_limits<double>::quiet_NaN()),
                                      isOdd.choose(size * x.number(-1), size));
  return (x < x.number(0)).choose(ofNegative, size);
}

/// Puts another expression for an operation on f32.
template <typename Op>
struct Form : mlir::OpRewritePattern<Op> {
  using Expression = mlir::Value (*)(mlir::OpBuilder&, Op);
  Form(mlir::MLIRContext* context, Expression expression)
      : mlir::OpRewritePattern<Op>(context), expression_(expression) {}

  mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter& rewriter) const override {
    if (!mlir::getElementTypeOrSelf(op.getType()).isF32()) {
      return rewriter.notifyMatchFailure(op, "not of f32");
    }
    rewriter.replaceOp(op, expression_(rewriter, op));
    return mlir::success();
  }

 private:
  Expression expression_;
};

template <typename Op, Term (*expression)(const Term&)>
mlir::Value unary(mlir::OpBuilder& builder, Op op) {
  return expression({&builder, op.getLoc(), op.getOperand()}).value;
}

mlir::Value binaryPower(mlir::OpBuilder& builder, math::PowFOp op) {
  Term x{&builder, op.getLoc(), op.getLhs()};
  return power(x, x.with(op.getRhs())).value;
}

template <typename Op, Term (*expression)(const Term&)>
void add(mlir::RewritePatternSet& patterns) {
  patterns.add<Form<Op>>(patterns.getContext(), &unary<Op, expression>);
}

}  // namespace

void populateMathForms(mlir::RewritePatternSet& patterns) {
  add<math::TanOp, tangent>(patterns);
  add<math::SinhOp, sinh>(patterns);
  add<math::CoshOp, cosh>(patterns);
  add<math::AsinhOp, asinh>(patterns);
  add<math::AcoshOp, acosh>(patterns);
  add<math::AtanhOp, atanh>(patterns);
  patterns.add<Form<math::PowFOp>>(patterns.getContext(), &binaryPower);
}

}  // namespace graphrun::devices::codegen
