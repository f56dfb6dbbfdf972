#include "ir/scalar.h"

#include <cmath>

#include "devices/functions/double_functions.h"
#include "devices/functions/lanes.h"
#include "devices/functions/scalars.h"
#include "ir/dialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace graphrun::ir {
namespace {

namespace doubles = devices::functions::doubles;
namespace scalars = devices::functions::scalars;
using Double = devices::functions::Lanes<double>;

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

/// The first two parameters of a function of floats.
struct Parameters {
  Double a{}, b{};
  explicit Parameters(mlir::Operation*) {}
  Parameters(mlir::Operation* op, Parameter first) : a{parameterOf(op, first)} {}
  Parameters(mlir::Operation* op, Parameter first, Parameter second)
      : a{parameterOf(op, first)}, b{parameterOf(op, second)} {}
};

/// Width of the elements that `op` works on.
unsigned widthOf(mlir::Operation* op) {
  return llvm::cast<mlir::TensorType>(op->getOperand(0).getType()).getElementTypeBitWidth();
}

/// Nothing where there is no quotient.
template <typename F>
std::optional<int64_t> ofIntegers(int64_t x, int64_t y) {
  if constexpr (requires { F::kDivides; }) {
    if (y == 0 || (x == INT64_MIN && y == -1)) {
      return std::nullopt;
    }
  }
  return F::apply(x, y);
}

}  // namespace

double parameterOf(mlir::Operation* op, Parameter wanted) {
  auto attribute = op->getAttrOfType<mlir::FloatAttr>(wanted.name);
  return attribute ? attribute.getValueAsDouble() : wanted.usual;
}

std::optional<double> evaluateFloat(mlir::Operation* op, llvm::ArrayRef<double> x) {
  using Result = std::optional<double>;
#define GR_NUMBER(Class, name, builder, rule, flops, onnx, since) GR_NUMBER_##rule(Class)
#define GR_NUMBER_Number(Class) .Case([&](Class##Op) { return scalars::Class::apply(x[0]); })
#define GR_NUMBER_Float GR_NUMBER_Number
#define GR_NUMBER_Bits(Class)
#define GR_INSTRUCTION(Class, name, flops, onnx, since, library, Math) \
  .Case([&](Class##Op) { return std::library(x[0]); })
#define GR_LIBRARY(Class, name, flops, onnx, since, computed, row) \
  .Case([&](Class##Op) { return std::name(x[0]); })
#define GR_FORM(Class, name, builder, flops, onnx, since, form, ...) \
  .Case([&, operand = x](Class##Op) {                                \
    Double x{operand[0]};                                            \
    [[maybe_unused]] Parameters p(op __VA_OPT__(, ) __VA_ARGS__);    \
    [[maybe_unused]] auto [a, b] = p;                                \
    return doubles::form.held;                                       \
  })
#define GR_ARITHMETIC(Class, name, builder, flops, onnx, since, neutral) \
  .Case([&](Class##Op) { return scalars::Class::apply(x[0], x[1]); })
#define GR_COMPARISON(Class, name, builder, rule, onnx, since) \
  .Case([&](Class##Op) { return scalars::Class::apply(x[0], x[1]) ? 1.0 : 0.0; })
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
#include "devices/functions/elementwise.def"
      .Case([&](LeakyReluOp a) { return x[0] >= 0 ? x[0] : x[0] * number(a, a.getAlpha()); })
      .Case([&](GeluOp a) {
        Double number{x[0]};
        return (a.getApproximate() ? doubles::geluByTangent(number) : doubles::gelu(number)).held;
      })
      .Case([&](ClipOp a) { return clamp(x[0], number(a, a.getLow()), number(a, a.getHigh())); })
      .Case([&](ModOp a) {
        return a.getTruncate() ? scalars::Mod<true>::apply(x[0], x[1])
                               : scalars::Mod<false>::apply(x[0], x[1]);
      })
      .Case([&](PowOp) { return std::pow(x[0], x[1]); })
      .Case([&](PReluOp) { return scalars::PRelu::apply(x[0], x[1]); })
      .Case([&](WhereOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

std::optional<int64_t> evaluateInt(mlir::Operation* op, llvm::ArrayRef<int64_t> x) {
  using Result = std::optional<int64_t>;
#undef GR_NUMBER_Float
#define GR_NUMBER_Float(Class)
#define GR_NUMBER(Class, name, builder, rule, flops, onnx, since) GR_NUMBER_##rule(Class)
#define GR_ARITHMETIC(Class, name, builder, flops, onnx, since, neutral) \
  .Case([&](Class##Op) { return ofIntegers<scalars::Class>(x[0], x[1]); })
#define GR_COMPARISON(Class, name, builder, rule, onnx, since) \
  .Case([&](Class##Op) { return scalars::Class::apply(x[0], x[1]) ? 1 : 0; })
#define GR_BITWISE(Class, name, builder, onnx, since) \
  .Case([&](Class##Op) { return scalars::Class::apply(x[0], x[1]); })
#define GR_SHIFT(Class, name, builder) \
  .Case([&](Class##Op) { return scalars::Class::apply(x[0], x[1], widthOf(op)); })
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
#include "devices/functions/elementwise.def"
      .Case([&](NotOp) { return widthOf(op) == 1 ? x[0] ^ 1 : scalars::Not::apply(x[0]); })
      .Case([&](ModOp a) -> Result {
        if (x[1] == 0) {
          return std::nullopt;
        }
        return a.getTruncate() ? scalars::Mod<true>::apply(x[0], x[1])
                               : scalars::Mod<false>::apply(x[0], x[1]);
      })
      .Case([&](WhereOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

}  // namespace graphrun::ir
