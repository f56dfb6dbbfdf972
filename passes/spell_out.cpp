#include "passes/spell_out.h"

#include <cmath>

#include "ir/builders.h"
#include "ir/dialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

/// Makes x * x of x^2 and x * x * x of x^3.
struct MultiplyOutPower : mlir::OpRewritePattern<ir::PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::PowOp op, PatternRewriter& rewriter) const override {
    mlir::Value x = op.getLhs();
    bool cube = isNumber(op.getRhs(), 3);
    if (x.getType() != op.getType() || (!cube && !isNumber(op.getRhs(), 2))) {
      return mlir::failure();
    }
    mlir::Value square = rewriter.create<ir::MulOp>(op.getLoc(), op.getType(), x, x);
    rewriter.replaceOp(
        op, cube ? rewriter.create<ir::MulOp>(op.getLoc(), op.getType(), square, x) : square);
    return mlir::success();
  }
};

/// Makes log(sum(exp(x - m))) + m, where m is the maximum, or 0 where that is infinite.
struct SpellOutLogSumExp : mlir::OpRewritePattern<ir::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReduceOp op, PatternRewriter& rewriter) const override {
    if (op.getKind() != ir::ReduceKind::kLogSumExp) {
      return mlir::failure();
    }
    mlir::Value x = op.getInput();
    mlir::Type element = mlir::getElementTypeOrSelf(x.getType());
    mlir::NamedAttribute axes = rewriter.getNamedAttr("axes", op.getAxesAttr());
    auto make = [&](llvm::StringRef name, mlir::ValueRange operands,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
      return (*ir::createOp(rewriter, op.getLoc(), name, operands, attributes))->getResult(0);
    };
    auto reduce = [&](mlir::Value value, ir::ReduceKind kind, bool keepdims) {
      return make("gr.reduce", value,
                  {rewriter.getNamedAttr("kind", rewriter.getStringAttr(stringifyReduceKind(kind))),
                   axes, rewriter.getNamedAttr("keepdims", rewriter.getBoolAttr(keepdims))});
    };
    auto number = [&](double value) {
      return ir::createScalar(rewriter, op.getLoc(), element, value);
    };
    mlir::Value top = reduce(x, ir::ReduceKind::kMax, /*keepdims=*/true);
    mlir::Value size = make("gr.abs", top);
    mlir::Value isFinite = make("gr.less", {size, number(INFINITY)});
    top = make("gr.where", {isFinite, top, number(0)});
    mlir::Value powers = make("gr.exp", make("gr.sub", {x, top}));
    mlir::Value sum = reduce(powers, ir::ReduceKind::kSum, op.getKeepdims());
    if (!op.getKeepdims() && !op.getAxes().empty()) {
      top = make("gr.squeeze", top, axes);
    }
    rewriter.replaceOpWithNewOp<ir::AddOp>(op, op.getType(), make("gr.log", sum), top);
    return mlir::success();
  }
};

}  // namespace

void addSpellOutPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<MultiplyOutPower, SpellOutLogSumExp>(patterns.getContext());
}

}  // namespace graphrun::passes
