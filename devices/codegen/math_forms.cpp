#include "devices/codegen/math_forms.h"

#include <numbers>

#include "devices/codegen/double_forms.h"
#include "devices/codegen/math_patterns.h"

namespace graphrun::devices::codegen {
namespace {

namespace math = mlir::math;

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

/// exp(y log |x|), with the sign and the exceptions of C's pow.
Term power(const Term& x, const Term& y) {
  Term a = of<math::AbsFOp>(x);
  Term size = of<math::ExpOp>(y * of<math::LogOp>(a));
  return withPowersSign(x, y, (a == x.number(1)).choose(a, size));
}

}  // namespace

void populateMathForms(mlir::RewritePatternSet& patterns) {
  MathPatterns<mlir::Float32Type> forms(patterns);
  forms.add<math::TanOp, tangent>();
  forms.add<math::SinhOp, sinh>();
  forms.add<math::CoshOp, cosh>();
  forms.add<math::AsinhOp, asinh>();
  forms.add<math::AcoshOp, acosh>();
  forms.add<math::AtanhOp, atanh>();
  forms.addBinary<math::PowFOp, power>();
  populateDoubleForms(patterns);
}

}  // namespace graphrun::devices::codegen
