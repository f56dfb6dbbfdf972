// GELU and swish, spelled out.
#include <cmath>
#include <numbers>

#include "passes/pins.h"
#include "passes/raise/raise_patterns.h"

namespace graphrun::passes {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

/// The y of 1 + y; null when `value` is something else.
mlir::Value besideOne(mlir::Value value) {
  Sum sum = sumOf(value);
  bool fits =
      sum.constant == 1 && sum.values.size() == 1 && sum.values[0].getType() == value.getType();
  return fits ? sum.values[0] : mlir::Value();
}

/// x to the power of `power`, times `factor`.
bool isPower(const Product& product, mlir::Value x, size_t power, double factor) {
  return product.values.size() == power && isFactor(product, factor, x.getType()) &&
         llvm::all_of(product.values, [&](mlir::Value value) { return value == x; });
}

bool isErfForm(mlir::Value value, mlir::Value x) {
  auto erf = value.getDefiningOp<ir::ErfOp>();
  return erf && isPower(productOf(erf.getInput()), x, 1, 1 / std::numbers::sqrt2);
}

constexpr double kCubic = 0.044715;

/// x + 0.044715 x^3
bool isCubicSum(mlir::Value value, mlir::Value x) {
  Sum sum = sumOf(value);
  if (sum.constant != 0 || sum.values.size() != 2) {
    return false;
  }
  mlir::Value cube = sum.values[sum.values[0] == x ? 1 : 0];
  return llvm::is_contained(sum.values, x) && isPower(productOf(cube), x, 3, kCubic);
}

/// 1 + 0.044715 x^2
bool isSquareSum(mlir::Value value, mlir::Value x) {
  mlir::Value square = besideOne(value);
  return square && isPower(productOf(square), x, 2, kCubic);
}

/// tanh(sqrt(2 / pi) (x + 0.044715 x^3)), also with x before the brackets.
bool isTanhForm(mlir::Value value, mlir::Value x) {
  auto tanh = value.getDefiningOp<ir::TanhOp>();
  if (!tanh) {
    return false;
  }
  Product inner = productOf(tanh.getInput());
  if (!isFactor(inner, std::sqrt(2 / std::numbers::pi), x.getType())) {
    return false;
  }
  if (inner.values.size() == 1) {
    return isCubicSum(inner.values[0], x);
  }
  return inner.values.size() == 2 && llvm::is_contained(inner.values, x) &&
         isSquareSum(inner.values[inner.values[0] == x ? 1 : 0], x);
}

/// x (1 + erf(x / sqrt 2)) / 2 and x (1 + tanh(…)) / 2, whatever the order of the factors.
template <typename Op>
struct RaiseGelu : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    Product product = productOf(op);
    if (product.values.size() != 2 || product.factor != 0.5) {
      return mlir::failure();
    }
    for (size_t i : {0, 1}) {
      mlir::Value x = product.values[i];
      mlir::Value curve = besideOne(product.values[1 - i]);
      if (!curve || x.getType() != op.getType()) {
        continue;
      }
      bool approximate = isTanhForm(curve, x);
      if ((approximate || isErfForm(curve, x)) && mayBecomeOne(op, x)) {
        rewriter.replaceOpWithNewOp<ir::GeluOp>(op, op.getType(), x, approximate);
        return mlir::success();
      }
    }
    return mlir::failure();
  }
};

void replaceBySwish(mlir::Operation* op, mlir::Value x, double alpha, PatternRewriter& rewriter) {
  rewriter.replaceOpWithNewOp<ir::SwishOp>(op, op->getResult(0).getType(), x,
                                           rewriter.getF64FloatAttr(alpha));
}

/// x sigmoid(alpha x)
struct RaiseSwish : mlir::OpRewritePattern<ir::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MulOp op, PatternRewriter& rewriter) const override {
    for (mlir::Value side : {op.getLhs(), op.getRhs()}) {
      auto gate = side.getDefiningOp<ir::SigmoidOp>();
      mlir::Value x = otherOperand(op, side);
      if (!gate || x.getType() != op.getType()) {
        continue;
      }
      Scaled inner = gate.getInput() == x ? Scaled{1, x} : scaledOf(gate.getInput());
      if (inner.value == x && mayBecomeOne(op, x)) {
        replaceBySwish(op, x, inner.factor, rewriter);
        return mlir::success();
      }
    }
    return mlir::failure();
  }
};

/// x / (1 + exp(-alpha x))
struct RaiseDividedSwish : mlir::OpRewritePattern<ir::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::DivOp op, PatternRewriter& rewriter) const override {
    mlir::Value x = op.getLhs();
    mlir::Value beside = x.getType() == op.getType() ? besideOne(op.getRhs()) : mlir::Value();
    auto power = beside ? beside.getDefiningOp<ir::ExpOp>() : nullptr;
    Scaled inner = power ? scaledOf(power.getInput()) : Scaled{};
    if (!power || inner.value != x || !mayBecomeOne(op, x)) {
      return mlir::failure();
    }
    replaceBySwish(op, x, -inner.factor, rewriter);
    return mlir::success();
  }
};

}  // namespace

void addActivationPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<RaiseGelu<ir::MulOp>, RaiseGelu<ir::DivOp>, RaiseSwish, RaiseDividedSwish>(
      patterns.getContext());
}

}  // namespace graphrun::passes
