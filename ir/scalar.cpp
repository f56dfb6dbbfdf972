#include "ir/scalar.h"

#include <cmath>
#include <numbers>

#include "ir/dialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace graphrun::ir {
namespace {

double gelu(double x, bool approximate) {
  if (approximate) {
    double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
  }
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

double minimum(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double maximum(double a, double b) { return std::isnan(a) || a > b ? a : b; }

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
      .Case([&](TanhOp) { return std::tanh(x[0]); })
      .Case([&](SigmoidOp) { return 1 / (1 + std::exp(-x[0])); })
      .Case([&](SoftplusOp) {
        return x[0] > 0 ? x[0] + std::log1p(std::exp(-x[0])) : std::log1p(std::exp(x[0]));
      })
      .Case([&](ReluOp) { return maximum(x[0], 0); })
      .Case([&](HardSwishOp) { return x[0] * std::clamp(x[0] / 6 + 0.5, 0.0, 1.0); })
      .Case([&](LeakyReluOp a) { return x[0] >= 0 ? x[0] : x[0] * a.getAlpha().convertToDouble(); })
      .Case([&](EluOp a) {
        return x[0] >= 0 ? x[0] : a.getAlpha().convertToDouble() * std::expm1(x[0]);
      })
      .Case([&](SeluOp a) {
        double gamma = a.getGamma().convertToDouble();
        return x[0] > 0 ? gamma * x[0] : gamma * a.getAlpha().convertToDouble() * std::expm1(x[0]);
      })
      .Case([&](HardSigmoidOp a) {
        return std::clamp(a.getAlpha().convertToDouble() * x[0] + a.getBeta().convertToDouble(),
                          0.0, 1.0);
      })
      .Case([&](GeluOp a) { return gelu(x[0], a.getApproximate()); })
      .Case([&](ClipOp a) {
        return minimum(maximum(x[0], a.getLow().convertToDouble()), a.getHigh().convertToDouble());
      })
      .Case([&](AddOp) { return x[0] + x[1]; })
      .Case([&](SubOp) { return x[0] - x[1]; })
      .Case([&](MulOp) { return x[0] * x[1]; })
      .Case([&](DivOp) { return x[0] / x[1]; })
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
      .Case([&](NotOp) { return x[0] == 0 ? 1 : 0; })
      .Case([&](AddOp) { return wrapping(x[0], x[1], std::plus<>()); })
      .Case([&](SubOp) { return wrapping(x[0], x[1], std::minus<>()); })
      .Case([&](MulOp) { return wrapping(x[0], x[1], std::multiplies<>()); })
      .Case([&](DivOp) -> Result {
        if (x[1] == 0 || (x[0] == INT64_MIN && x[1] == -1)) {
          return std::nullopt;
        }
        return x[0] / x[1];
      })
      .Case([&](MinOp) { return std::min(x[0], x[1]); })
      .Case([&](MaxOp) { return std::max(x[0], x[1]); })
      .Case([&](EqualOp) { return x[0] == x[1] ? 1 : 0; })
      .Case([&](LessOp) { return x[0] < x[1] ? 1 : 0; })
      .Case([&](LessEqualOp) { return x[0] <= x[1] ? 1 : 0; })
      .Case([&](AndOp) { return x[0] & x[1]; })
      .Case([&](OrOp) { return x[0] | x[1]; })
      .Case([&](XorOp) { return x[0] ^ x[1]; })
      .Case([&](WhereOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

}  // namespace graphrun::ir
