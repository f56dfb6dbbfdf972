// Gradient rules of element-wise operations: dy is the gradient of the result y.
#include <cmath>
#include <numbers>

#include "ir/gradients/builder.h"

namespace graphrun::ir {

// One operand, x.
#define GR_UNARY_GRADIENT(Class, ...)                             \
  mlir::LogicalResult Class::buildGradient(GradientBuilder& b) {  \
    const Term dy = b.gradient();                                 \
    [[maybe_unused]] const Term x = b.operand(0), y = b.result(); \
    b.give(0, __VA_ARGS__);                                       \
    return mlir::success();                                       \
  }

// Two operands, l and r, which broadcast; GradientBuilder::give sums over what was broadcast.
#define GR_BINARY_GRADIENT(Class, toLhs, toRhs)                                     \
  mlir::LogicalResult Class::buildGradient(GradientBuilder& b) {                    \
    const Term dy = b.gradient();                                                   \
    [[maybe_unused]] const Term l = b.operand(0), r = b.operand(1), y = b.result(); \
    if (b.wants(0)) {                                                               \
      b.give(0, toLhs);                                                             \
    }                                                                               \
    if (b.wants(1)) {                                                               \
      b.give(1, toRhs);                                                             \
    }                                                                               \
    return mlir::success();                                                         \
  }

GR_UNARY_GRADIENT(AbsOp, dy* sign(x))
GR_UNARY_GRADIENT(NegOp, -dy)
GR_UNARY_GRADIENT(ExpOp, dy* y)
GR_UNARY_GRADIENT(LogOp, dy / x)
GR_UNARY_GRADIENT(ExpM1Op, dy*(y + 1))
GR_UNARY_GRADIENT(Log1pOp, dy / (x + 1))
GR_UNARY_GRADIENT(SqrtOp, dy * 0.5 / y)
GR_UNARY_GRADIENT(ReciprocalOp, -(dy* y* y))
GR_UNARY_GRADIENT(ErfOp, dy * (2 * std::numbers::inv_sqrtpi) * exp(-(x * x)))
GR_UNARY_GRADIENT(SinOp, dy* apply("gr.cos", x))
GR_UNARY_GRADIENT(CosOp, -(dy* apply("gr.sin", x)))
GR_UNARY_GRADIENT(TanOp, dy*(y* y + 1))
GR_UNARY_GRADIENT(AsinOp, dy / sqrt((1 - x) * (1 + x)))
GR_UNARY_GRADIENT(AcosOp, -(dy / sqrt((1 - x) * (1 + x))))
GR_UNARY_GRADIENT(AtanOp, dy / (x * x + 1))
GR_UNARY_GRADIENT(SinhOp, dy* apply("gr.cosh", x))
GR_UNARY_GRADIENT(CoshOp, dy* apply("gr.sinh", x))
GR_UNARY_GRADIENT(TanhOp, dy * (1 - y * y))
GR_UNARY_GRADIENT(AsinhOp, dy / sqrt(x * x + 1))
GR_UNARY_GRADIENT(AcoshOp, dy / sqrt((x - 1) * (x + 1)))
GR_UNARY_GRADIENT(AtanhOp, dy / ((1 - x) * (1 + x)))
GR_UNARY_GRADIENT(SigmoidOp, dy* y * (1 - y))
GR_UNARY_GRADIENT(SoftplusOp, dy* apply("gr.sigmoid", x))
GR_UNARY_GRADIENT(ReluOp, select(less(0, x), dy, Term()))
GR_UNARY_GRADIENT(CastOp, b.castTo(dy, x.element()))

// Between -3 and 3 the function is x (x + 3) / 6.
GR_UNARY_GRADIENT(HardSwishOp,
                  select(less(3, x), dy, select(less(-3, x), dy*((x * 2 + 3) / 6), Term())))
// Both edges belong to the range, as in PyTorch.
GR_UNARY_GRADIENT(ClipOp, select(both(lessEqual(getLow().convertToDouble(), x),
                                      lessEqual(x, getHigh().convertToDouble())),
                                 dy, Term()))
GR_UNARY_GRADIENT(HardSigmoidOp,
                  select(both(less(0, y), less(y, 1)), dy* getAlpha().convertToDouble(), Term()))
GR_UNARY_GRADIENT(LeakyReluOp, select(lessEqual(0, x), dy, dy* getAlpha().convertToDouble()))
// alpha * exp(x) is y + alpha, which is not infinite for a large x.
GR_UNARY_GRADIENT(EluOp, select(lessEqual(0, x), dy, dy*(y + getAlpha().convertToDouble())))

mlir::LogicalResult SeluOp::buildGradient(GradientBuilder& b) {
  const Term dy = b.gradient();
  double gamma = getGamma().convertToDouble();
  double scale = gamma * getAlpha().convertToDouble();
  b.give(0, select(less(0, b.operand(0)), dy * gamma, dy * (b.result() + scale)));
  return mlir::success();
}

mlir::LogicalResult SwishOp::buildGradient(GradientBuilder& b) {
  double alpha = getAlpha().convertToDouble();
  Term scaled = b.operand(0) * alpha;
  Term s = apply("gr.sigmoid", scaled);
  b.give(0, b.gradient() * s * (scaled * (1 - s) + 1));
  return mlir::success();
}

mlir::LogicalResult GeluOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  if (!getApproximate()) {
    // F(x) + x f(x), with the normal distribution's cumulative function F and density f.
    Term distribution = (apply("gr.erf", x * (1 / std::numbers::sqrt2)) + 1) * 0.5;
    Term density = exp(x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    b.give(0, b.gradient() * (distribution + x * density));
    return mlir::success();
  }
  // x (1 + t) / 2 with t = tanh(a x + c x^3).
  const double a = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const double c = a * 0.044715;
  Term square = x * x;
  Term t = apply("gr.tanh", x * (square * c + a));
  Term slope = x * (1 - t * t) * (square * (3 * c) + a);
  b.give(0, b.gradient() * (t + 1 + slope) * 0.5);
  return mlir::success();
}

GR_BINARY_GRADIENT(AddOp, dy, dy)
GR_BINARY_GRADIENT(SubOp, dy, -dy)
GR_BINARY_GRADIENT(MulOp, dy* r, dy* l)
GR_BINARY_GRADIENT(DivOp, dy / r, -(dy* y / r))
// The quotient is a whole number, whichever way it is rounded.
GR_BINARY_GRADIENT(ModOp, dy, -(dy* apply("gr.round", (l - y) / r)))
GR_BINARY_GRADIENT(PReluOp, select(lessEqual(0, l), dy, dy* r),
                   select(lessEqual(0, l), Term(), dy* l))

namespace {

/// dy where `x` is less than `y`, half of it where both are equal, as in JAX and PyTorch.
Term whereLess(Term dy, Term x, Term y) {
  return select(less(x, y), dy, select(equal(x, y), dy * 0.5, Term()));
}

}  // namespace

GR_BINARY_GRADIENT(MinOp, whereLess(dy, l, r), whereLess(dy, r, l))
GR_BINARY_GRADIENT(MaxOp, whereLess(dy, r, l), whereLess(dy, l, r))

// r l^(r - 1) is 0 for r = 0, also where l is 0. l^r ln(l) is 0 for l = 0, where r is not below 0.
GR_BINARY_GRADIENT(PowOp, dy* select(equal(r, 0), Term(), r* apply("gr.pow", l, r - 1)),
                   dy* select(both(equal(l, 0), lessEqual(0, r)), Term(), y* log(l)))

mlir::LogicalResult WhereOp::buildGradient(GradientBuilder& b) {
  if (b.wants(1)) {
    b.give(1, select(b.operand(0), b.gradient(), Term()));
  }
  if (b.wants(2)) {
    b.give(2, select(b.operand(0), Term(), b.gradient()));
  }
  return mlir::success();
}

}  // namespace graphrun::ir
