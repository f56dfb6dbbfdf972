#include "passes/empty_tensors.h"

#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::passes {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

bool isEmpty(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 0;
}

/// A user of a result without elements reads a constant in its place.
struct EmptyResult : mlir::RewritePattern {
  explicit EmptyResult(mlir::MLIRContext* context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/3, context) {}

  LogicalResult matchAndRewrite(mlir::Operation* op, PatternRewriter& rewriter) const override {
    bool changed = false;
    for (mlir::OpResult result : op->getResults()) {
      if (llvm::isa<ir::ConstantOp>(op) || result.use_empty() || !isEmpty(result)) {
        continue;
      }
      auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
      mlir::ElementsAttr none = noElements(type);
      if (!none) {
        continue;
      }
      rewriter.replaceAllUsesWith(result,
                                  rewriter.create<ir::ConstantOp>(op->getLoc(), type, none));
      changed = true;
    }
    return mlir::success(changed);
  }
};

/// Returns the initial value of a reduction, as the CPU's kernels start; null for an unknown kind.
mlir::TypedAttr startOf(llvm::StringRef kind, mlir::Type element) {
  bool most = kind == "max";
  if (auto type = llvm::dyn_cast<mlir::FloatType>(element)) {
    const llvm::fltSemantics& semantics = type.getFloatSemantics();
    if (most || kind == "min") {
      return mlir::FloatAttr::get(type, llvm::APFloat::getInf(semantics, /*Negative=*/most));
    }
    return kind == "mean" ? mlir::FloatAttr::get(type, llvm::APFloat::getNaN(semantics))
                          : mlir::FloatAttr::get(type, kind == "prod" ? 1.0 : 0.0);
  }
  unsigned bits = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || bits == 1;
  if (most || kind == "min") {
    return mlir::IntegerAttr::get(
        element,
        most
            ? (isUnsigned ? llvm::APInt::getMinValue(bits) : llvm::APInt::getSignedMinValue(bits))
            : (isUnsigned ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits)));
  }
  // A mean of integers divides by their number.
  return kind == "mean"
             ? mlir::TypedAttr()
             : mlir::IntegerAttr::get(element, llvm::APInt(bits, kind == "prod" ? 1 : 0));
}

/// `op` has `value` wherever its result has an element.
LogicalResult replaceByValue(mlir::Operation* op, mlir::TypedAttr value,
                             PatternRewriter& rewriter) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (!value || !type || !type.hasStaticShape()) {
    return mlir::failure();
  }
  rewriter.replaceOpWithNewOp<ir::ConstantOp>(op, type, mlir::DenseElementsAttr::get(type, value));
  return mlir::success();
}

struct ReductionOfNothing : mlir::OpRewritePattern<ir::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReduceOp op, PatternRewriter& rewriter) const override {
    if (!isEmpty(op.getInput())) {
      return mlir::failure();
    }
    mlir::Type element = op.getType().getElementType();
    return replaceByValue(op, startOf(op.getKind(), element), rewriter);
  }
};

struct ProductOverNothing : mlir::OpRewritePattern<ir::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatMulOp op, PatternRewriter& rewriter) const override {
    if (!isEmpty(op.getLhs()) && !isEmpty(op.getRhs())) {
      return mlir::failure();
    }
    return replaceByValue(op, startOf("sum", op.getType().getElementType()), rewriter);
  }
};

struct DropEmptyPart : mlir::OpRewritePattern<ir::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConcatOp op, PatternRewriter& rewriter) const override {
    llvm::SmallVector<mlir::Value> parts;
    llvm::copy_if(op.getInputs(), std::back_inserter(parts),
                  [](mlir::Value part) { return !isEmpty(part); });
    if (parts.empty() || parts.size() == op.getInputs().size()) {
      return mlir::failure();
    }
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(parts); });
    return mlir::success();
  }
};

template <typename Op>
struct ScatterOfNothing : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    if (!isEmpty(op.getUpdates()) || op.getInput().getType() != op.getType()) {
      return mlir::failure();
    }
    rewriter.replaceOp(op, op.getInput());
    return mlir::success();
  }
};

}  // namespace

mlir::ElementsAttr noElements(mlir::RankedTensorType type) {
  if (ir::isStrings(type.getElementType())) {
    return ir::makeStrings(type, {});
  }
  return type.getElementType().isIntOrFloat()
             ? mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>())
             : nullptr;
}

void addEmptyTensorPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<EmptyResult, ReductionOfNothing, ProductOverNothing, DropEmptyPart,
               ScatterOfNothing<ir::ScatterElementsOp>, ScatterOfNothing<ir::ScatterNdOp>>(
      patterns.getContext());
}

}  // namespace graphrun::passes
