#include "ir/scalar.h"

#include <cmath>

#include "devices/functions/double_functions.h"
#include "devices/functions/lanes.h"
#include "ir/dialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace graphrun::ir {
namespace {

namespace doubles = devices::functions::doubles;
using Double = devices::functions::Lanes<double>;

/// NaN where one is NaN; -0 is less than 0.
double minimum(double a, double b) {
  return std::isnan(a) || a < b || (a == b && std::signbit(a)) ? a : b;
}
double maximum(double a, double b) {
  return std::isnan(a) || a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// Zeros of both signs and NaN stay as they are.
double clamp(double x, double low, double high) {
  double raised = x < low ? low : x;
  return raised > high ? high : raised;
}

/// An attribute of `op` as it is computed with.
double number(mlir::Operation* op, const llvm::APFloat& value) {
  bool isDouble = llvm::cast<mlir::TensorType>(op->getResult(0).getType()).getElementType().isF64();
  double wide = value.convertToDouble();
  return isDouble ? wide : static_cast<float>(wide);
}

/// Floored unless `truncate` is set; a zero has the sign of the divisor, or of the dividend.
double remainder(double x, double y, bool truncate) {
  double rest = std::fmod(x, y);
  if (truncate || std::isnan(rest)) {
    return rest;
  }
  return rest == 0 ? std::copysign(0.0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
}

std::optional<int64_t> remainder(int64_t x, int64_t y, bool truncate) {
  if (y == 0) {
    return std::nullopt;
  }
  int64_t rest = y == -1 ? 0 : x % y;
  return !truncate && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// Width of the elements that `op` works on.
unsigned widthOf(mlir::Operation* op) {
  return llvm::cast<mlir::TensorType>(op->getOperand(0).getType()).getElementTypeBitWidth();
}

int64_t shiftLeft(int64_t x, int64_t amount, unsigned width) {
  return amount < 0 || amount >= width
             ? 0
             : static_cast<int64_t>(static_cast<uint64_t>(x) << static_cast<uint64_t>(amount));
}

int64_t shiftRight(int64_t x, int64_t amount, unsigned width) {
  return amount < 0 || amount >= width ? (x < 0 ? -1 : 0) : x >> amount;
}

/// Wraps around as hardware does, without undefined behaviour.
template <typename Function>
int64_t wrapping(int64_t a, int64_t b, Function function) {
  return static_cast<int64_t>(function(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

}  // namespace

std::optional<double> evaluateFloat(mlir::Operation* op, llvm::ArrayRef<double> x) {
  using Result = std::optional<double>;
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([&](AbsOp) { return std::abs(x[0]); })
      .Case([&](NegOp) { return -x[0]; })
      .Case([&](ExpOp) { return std::exp(x[0]); })
      .Case([&](LogOp) { return std::log(x[0]); })
      .Case([&](SqrtOp) { return std::sqrt(x[0]); })
      .Case([&](ReciprocalOp) { return 1 / x[0]; })
      .Case([&](FloorOp) { return std::floor(x[0]); })
      .Case([&](CeilOp) { return std::ceil(x[0]); })
      .Case([&](RoundOp) { return std::nearbyint(x[0]); })
      .Case([&](SignOp) { return x[0] > 0   ? 1.0
                                 : x[0] < 0 ? -1.0
                                            : x[0]; })
      .Case([&](ErfOp) { return std::erf(x[0]); })
      .Case([&](SinOp) { return std::sin(x[0]); })
      .Case([&](CosOp) { return std::cos(x[0]); })
      .Case([&](TanOp) { return std::tan(x[0]); })
      .Case([&](AsinOp) { return std::asin(x[0]); })
      .Case([&](AcosOp) { return std::acos(x[0]); })
      .Case([&](AtanOp) { return std::atan(x[0]); })
      .Case([&](SinhOp) { return std::sinh(x[0]); })
      .Case([&](CoshOp) { return std::cosh(x[0]); })
      .Case([&](TanhOp) { return std::tanh(x[0]); })
      .Case([&](AsinhOp) { return std::asinh(x[0]); })
      .Case([&](AcoshOp) { return std::acosh(x[0]); })
      .Case([&](AtanhOp) { return std::atanh(x[0]); })
      .Case([&](SigmoidOp) { return doubles::sigmoid(Double{x[0]}).held; })
      .Case([&](SoftplusOp) { return doubles::softplus(Double{x[0]}).held; })
      .Case([&](ReluOp) { return x[0] < 0 ? 0 : x[0]; })
      .Case([&](HardSwishOp) { return x[0] * std::clamp(x[0] / 6 + 0.5, 0.0, 1.0); })
      .Case([&](LeakyReluOp a) { return x[0] >= 0 ? x[0] : x[0] * number(a, a.getAlpha()); })
      .Case([&](SwishOp a) {
        return doubles::swish(Double{x[0]}, Double{a.getAlpha().convertToDouble()}).held;
      })
      .Case([&](EluOp a) {
        return doubles::elu(Double{x[0]}, Double{a.getAlpha().convertToDouble()}).held;
      })
      .Case([&](SeluOp a) {
        return doubles::selu(Double{x[0]}, Double{a.getAlpha().convertToDouble()},
                             Double{a.getGamma().convertToDouble()})
            .held;
      })
      .Case([&](HardSigmoidOp a) {
        return std::clamp(a.getAlpha().convertToDouble() * x[0] + a.getBeta().convertToDouble(),
                          0.0, 1.0);
      })
      .Case([&](GeluOp a) {
        Double number{x[0]};
        return (a.getApproximate() ? doubles::geluByTangent(number) : doubles::gelu(number)).held;
      })
      .Case([&](ClipOp a) { return clamp(x[0], number(a, a.getLow()), number(a, a.getHigh())); })
      .Case([&](AddOp) { return x[0] + x[1]; })
      .Case([&](SubOp) { return x[0] - x[1]; })
      .Case([&](MulOp) { return x[0] * x[1]; })
      .Case([&](DivOp) { return x[0] / x[1]; })
      .Case([&](ModOp a) { return remainder(x[0], x[1], a.getTruncate()); })
      .Case([&](PowOp) { return std::pow(x[0], x[1]); })
      .Case([&](MinOp) { return minimum(x[0], x[1]); })
      .Case([&](MaxOp) { return maximum(x[0], x[1]); })
      .Case([&](PReluOp) { return x[0] >= 0 ? x[0] : x[0] * x[1]; })
      .Case([&](EqualOp) { return x[0] == x[1] ? 1.0 : 0.0; })
      .Case([&](LessOp) { return x[0] < x[1] ? 1.0 : 0.0; })
      .Case([&](LessEqualOp) { return x[0] <= x[1] ? 1.0 : 0.0; })
      .Case([&](WhereOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

std::optional<int64_t> evaluateInt(mlir::Operation* op, llvm::ArrayRef<int64_t> x) {
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([&](AbsOp) { return x[0] < 0 ? wrapping(0, x[0], std::minus<>()) : x[0]; })
      .Case([&](NegOp) { return wrapping(0, x[0], std::minus<>()); })
      .Case([&](SignOp) { return (x[0] > 0) - (x[0] < 0); })
      .Case([&](ReluOp) { return std::max<int64_t>(x[0], 0); })
      .Case([&](NotOp) { return widthOf(op) == 1 ? x[0] ^ 1 : ~x[0]; })
      .Case([&](AddOp) { return wrapping(x[0], x[1], std::plus<>()); })
      .Case([&](SubOp) { return wrapping(x[0], x[1], std::minus<>()); })
      .Case([&](MulOp) { return wrapping(x[0], x[1], std::multiplies<>()); })
      .Case([&](DivOp) -> Result {
        if (x[1] == 0 || (x[0] == INT64_MIN && x[1] == -1)) {
          return std::nullopt;
        }
        return x[0] / x[1];
      })
      .Case([&](ModOp a) { return remainder(x[0], x[1], a.getTruncate()); })
      .Case([&](MinOp) { return std::min(x[0], x[1]); })
      .Case([&](MaxOp) { return std::max(x[0], x[1]); })
      .Case([&](EqualOp) { return x[0] == x[1] ? 1 : 0; })
      .Case([&](LessOp) { return x[0] < x[1] ? 1 : 0; })
      .Case([&](LessEqualOp) { return x[0] <= x[1] ? 1 : 0; })
      .Case([&](AndOp) { return x[0] & x[1]; })
      .Case([&](OrOp) { return x[0] | x[1]; })
      .Case([&](XorOp) { return x[0] ^ x[1]; })
      .Case([&](ShiftLeftOp) { return shiftLeft(x[0], x[1], widthOf(op)); })
      .Case([&](ShiftRightOp) { return shiftRight(x[0], x[1], widthOf(op)); })
      .Case([&](WhereOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

}  // namespace graphrun::ir
