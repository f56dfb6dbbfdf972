// These patterns put expressions in the place of operations of the math dialect.
#ifndef GRAPHRUN_DEVICES_CODEGEN_MATH_PATTERNS_H_
#define GRAPHRUN_DEVICES_CODEGEN_MATH_PATTERNS_H_

#include "devices/codegen/terms.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::codegen {

/// Adds patterns for operations on the type `Float`, scalars or vectors of it.
template <typename Float>
class MathPatterns {
 public:
  explicit MathPatterns(mlir::RewritePatternSet& patterns) : patterns_(&patterns) {}

  template <typename Op, Term (*expression)(const Term&)>
  void add() {
    patterns_->add<Form<Op>>(patterns_->getContext(), [](mlir::OpBuilder& builder, Op op) {
      return expression({&builder, op.getLoc(), op.getOperand()}).value;
    });
  }
  template <typename Op, Term (*expression)(const Term&, const Term&)>
  void addBinary() {
    patterns_->add<Form<Op>>(patterns_->getContext(), [](mlir::OpBuilder& builder, Op op) {
      Term x{&builder, op.getLoc(), op.getLhs()};
      return expression(x, x.with(op.getRhs())).value;
    });
  }

 private:
  template <typename Op>
  struct Form : mlir::OpRewritePattern<Op> {
    using Expression = mlir::Value (*)(mlir::OpBuilder&, Op);
    Form(mlir::MLIRContext* context, Expression expression)
        : mlir::OpRewritePattern<Op>(context), expression_(expression) {}

    mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter& rewriter) const override {
      if (!llvm::isa<Float>(mlir::getElementTypeOrSelf(op.getType()))) {
        return rewriter.notifyMatchFailure(op, "the operation is of another type");
      }
      rewriter.replaceOp(op, expression_(rewriter, op));
      return mlir::success();
    }

   private:
    Expression expression_;
  };

  mlir::RewritePatternSet* patterns_;
};

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_MATH_PATTERNS_H_
