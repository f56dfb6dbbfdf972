// Layer normalisation and softmax, spelled out.
#include "passes/pins.h"
#include "passes/raise/raise_patterns.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

/// The y of a division by y, when `op` is x / y, x * (1 / y) or x * y^-1; the x beside it.
struct Quotient {
  mlir::Value over, under;
};

/// The y of 1 / y; null when `value` is something else.
mlir::Value inverseOf(mlir::Value value) {
  if (auto reciprocal = value.getDefiningOp<ir::ReciprocalOp>()) {
    return reciprocal.getInput();
  }
  auto div = value.getDefiningOp<ir::DivOp>();
  return div && uniformOf(div.getLhs()) == 1.0 ? div.getRhs() : mlir::Value();
}

/// The y of sqrt(y).
mlir::Value underRoot(mlir::Value value) {
  if (auto root = value.getDefiningOp<ir::SqrtOp>()) {
    return root.getInput();
  }
  auto pow = value.getDefiningOp<ir::PowOp>();
  return pow && uniformOf(pow.getRhs()) == 0.5 ? pow.getLhs() : mlir::Value();
}

/// The y of y^-0.5 = 1 / sqrt(y).
mlir::Value underInverseRoot(mlir::Value value) {
  if (auto pow = value.getDefiningOp<ir::PowOp>(); pow && uniformOf(pow.getRhs()) == -0.5) {
    return pow.getLhs();
  }
  mlir::Value root = inverseOf(value);
  return root ? underRoot(root) : mlir::Value();
}

/// Both ways to read a product or quotient as x / sqrt(y).
llvm::SmallVector<Quotient> overRoots(mlir::Operation* op) {
  llvm::SmallVector<Quotient> found;
  auto consider = [&](mlir::Value over, mlir::Value under) {
    if (under) {
      found.push_back({over, under});
    }
  };
  if (auto div = llvm::dyn_cast<ir::DivOp>(op)) {
    consider(div.getLhs(), underRoot(div.getRhs()));
  } else if (auto mul = llvm::dyn_cast<ir::MulOp>(op)) {
    consider(mul.getLhs(), underInverseRoot(mul.getRhs()));
    consider(mul.getRhs(), underInverseRoot(mul.getLhs()));
  }
  return found;
}

/// `value` is the mean of the squares of `x` over its last dims: of how many; 0 otherwise.
size_t meansSquares(mlir::Value value, mlir::Value x) {
  auto mean = value.getDefiningOp<ir::ReduceOp>();
  if (!mean || !reducesLast(mean, ir::ReduceKind::kMean, mean.getAxes().size())) {
    return 0;
  }
  Product squares = productOf(mean.getInput());
  bool fits = squares.factor == 1 && squares.values.size() == 2 && squares.values[0] == x &&
              squares.values[1] == x;
  return fits ? mean.getAxes().size() : 0;
}

/// x of x - mean(x) over the last `count` dims; null when `value` is something else.
mlir::Value centredInput(mlir::Value value, size_t count) {
  auto sub = value.getDefiningOp<ir::SubOp>();
  auto mean = sub ? sub.getRhs().getDefiningOp<ir::ReduceOp>() : nullptr;
  bool fits = mean && mean.getInput() == sub.getLhs() &&
              reducesLast(mean, ir::ReduceKind::kMean, count) &&
              sub.getLhs().getType() == sub.getType();
  return fits ? sub.getLhs() : mlir::Value();
}

/// A constant of ones over the last `count` dims of `type`; null where one is not known.
mlir::Value createOnes(PatternRewriter& rewriter, mlir::Location loc, mlir::Type type,
                       size_t count) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  llvm::ArrayRef<int64_t> dims = tensor.getShape().take_back(count);
  if (llvm::any_of(dims, mlir::ShapedType::isDynamic)) {
    return {};
  }
  auto vector = mlir::RankedTensorType::get(dims, tensor.getElementType());
  auto one = mlir::DenseElementsAttr::get(
      vector, mlir::Attribute(rewriter.getFloatAttr(tensor.getElementType(), 1)));
  return rewriter.create<ir::ConstantOp>(loc, vector, one);
}

/// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon): a layer_norm with a scale of ones, which
/// what follows replaces.
template <typename Op>
struct RaiseLayerNorm : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    for (const Quotient& quotient : overRoots(op)) {
      Sum variance = sumOf(quotient.under);
      if (variance.values.size() != 1 || variance.constant < 0) {
        continue;
      }
      size_t count = meansSquares(variance.values[0], quotient.over);
      mlir::Value x = count > 0 ? centredInput(quotient.over, count) : mlir::Value();
      if (!x || x.getType() != op.getType() || !mayBecomeOne(op, x)) {
        continue;
      }
      mlir::Value ones = createOnes(rewriter, op.getLoc(), x.getType(), count);
      if (!ones) {
        return mlir::failure();
      }
      rewriter.replaceOpWithNewOp<ir::LayerNormOp>(
          op, op.getType(), x, ones, mlir::Value(),
          rewriter.getI64IntegerAttr(-static_cast<int64_t>(count)),
          rewriter.getF64FloatAttr(variance.constant));
      return mlir::success();
    }
    return mlir::failure();
  }
};

/// The layer_norm beside which `op` has a value of the shape of its parameters: `parameter`.
ir::LayerNormOp normBeside(mlir::Operation* op, mlir::Value& parameter) {
  for (size_t i : {0, 1}) {
    auto norm = op->getOperand(i).getDefiningOp<ir::LayerNormOp>();
    parameter = op->getOperand(1 - i);
    if (norm && norm->hasOneUse() && norm.getType() == op->getResult(0).getType() &&
        parameter.getType() == norm.getScale().getType() &&
        mayBecomeOne(op, {norm.getInput(), norm.getScale(), parameter})) {
      return norm;
    }
  }
  return {};
}

/// layer_norm(x, ones) * scale
struct TakeScale : mlir::OpRewritePattern<ir::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MulOp op, PatternRewriter& rewriter) const override {
    mlir::Value scale;
    ir::LayerNormOp norm = normBeside(op, scale);
    if (!norm || norm.getBias() || uniformOf(norm.getScale()) != 1.0) {
      return mlir::failure();
    }
    rewriter.replaceOpWithNewOp<ir::LayerNormOp>(op, op.getType(), norm.getInput(), scale,
                                                 mlir::Value(), norm.getAxisAttr(),
                                                 norm.getEpsilonAttr());
    return mlir::success();
  }
};

/// layer_norm(x, scale) + bias
struct TakeBias : mlir::OpRewritePattern<ir::AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::AddOp op, PatternRewriter& rewriter) const override {
    mlir::Value bias;
    ir::LayerNormOp norm = normBeside(op, bias);
    if (!norm || norm.getBias()) {
      return mlir::failure();
    }
    rewriter.replaceOpWithNewOp<ir::LayerNormOp>(op, op.getType(), norm.getInput(), norm.getScale(),
                                                 bias, norm.getAxisAttr(), norm.getEpsilonAttr());
    return mlir::success();
  }
};

/// The x of exp(x - max(x)) whose sum over the same axis is `total`.
mlir::Value softmaxInput(ir::ExpOp power, mlir::Value total, int64_t& axis) {
  auto sum = total.getDefiningOp<ir::ReduceOp>();
  auto shifted = power.getInput().getDefiningOp<ir::SubOp>();
  auto most = shifted ? shifted.getRhs().getDefiningOp<ir::ReduceOp>() : nullptr;
  if (!sum || !most || sum.getInput() != power.getResult() ||
      sum.getKind() != ir::ReduceKind::kSum || most.getKind() != ir::ReduceKind::kMax ||
      most.getInput() != shifted.getLhs() || !sum.getKeepdims() || !most.getKeepdims() ||
      sum.getAxes() != most.getAxes() || sum.getAxes().size() != 1) {
    return {};
  }
  axis = sum.getAxes()[0];
  return shifted.getLhs();
}

/// exp(x - max(x)) / sum(exp(x - max(x)))
template <typename Op>
struct RaiseSoftmax : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    constexpr bool kDivides = std::is_same_v<Op, ir::DivOp>;
    for (auto [over, under] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto power = over.template getDefiningOp<ir::ExpOp>();
      mlir::Value total = kDivides ? under : inverseOf(under);
      int64_t axis = 0;
      mlir::Value x = power && total ? softmaxInput(power, total, axis) : mlir::Value();
      if (x && x.getType() == op.getType() && mayBecomeOne(op, x)) {
        rewriter.replaceOpWithNewOp<ir::SoftmaxOp>(
            op, op.getType(), x, rewriter.getI64IntegerAttr(axis), rewriter.getBoolAttr(false));
        return mlir::success();
      }
      if (kDivides) {
        break;
      }
    }
    return mlir::failure();
  }
};

}  // namespace

void addNormalizationPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<RaiseLayerNorm<ir::DivOp>, RaiseLayerNorm<ir::MulOp>, TakeScale, TakeBias,
               RaiseSoftmax<ir::DivOp>, RaiseSoftmax<ir::MulOp>>(patterns.getContext());
}

}  // namespace graphrun::passes
