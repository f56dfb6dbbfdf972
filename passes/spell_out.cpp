#include "passes/spell_out.h"

#include "ir/dialect.h"
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

}  // namespace

void addSpellOutPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<MultiplyOutPower>(patterns.getContext());
}

}  // namespace graphrun::passes
