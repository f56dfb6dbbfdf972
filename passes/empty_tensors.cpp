#include "passes/empty_tensors.h"

#include "ir/builders.h"
#include "ir/dialect.h"
#include "ir/reductions.h"

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

/// Returns the number of `type` that a reduction of nothing is, or null where there is none.
mlir::TypedAttr valueOf(ir::OfNothing nothing, mlir::FloatType type) {
  const llvm::fltSemantics& semantics = type.getFloatSemantics();
  switch (nothing) {
    case ir::OfNothing::kZero:
      return mlir::FloatAttr::get(type, 0.0);
    case ir::OfNothing::kOne:
      return mlir::FloatAttr::get(type, 1.0);
    case ir::OfNothing::kLowest:
      return mlir::FloatAttr::get(type, llvm::APFloat::getInf(semantics, /*Negative=*/true));
    case ir::OfNothing::kHighest:
      return mlir::FloatAttr::get(type, llvm::APFloat::getInf(semantics));
    case ir::OfNothing::kNoNumber:
      return mlir::FloatAttr::get(type, llvm::APFloat::getNaN(semantics));
  }
  return nullptr;
}
mlir::TypedAttr valueOf(ir::OfNothing nothing, mlir::IntegerType type) {
  unsigned bits = type.getWidth();
  bool isUnsigned = type.isUnsigned() || bits == 1;
  auto of = [&](const llvm::APInt& value) { return mlir::IntegerAttr::get(type, value); };
  switch (nothing) {
    case ir::OfNothing::kZero:
      return of(llvm::APInt(bits, 0));
    case ir::OfNothing::kOne:
      return of(llvm::APInt(bits, 1));
    case ir::OfNothing::kLowest:
      return of(isUnsigned ? llvm::APInt::getMinValue(bits) : llvm::APInt::getSignedMinValue(bits));
    case ir::OfNothing::kHighest:
      return of(isUnsigned ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits));
    case ir::OfNothing::kNoNumber:
      return nullptr;
  }
  return nullptr;
}

/// Returns what a reduction of no elements is, as the CPU's kernels start, or null where it is no
/// number.
mlir::TypedAttr valueOfNothing(ir::ReduceKind kind, mlir::Type element) {
  ir::OfNothing nothing = ir::ruleOf(kind).ofNothing;
  auto type = llvm::dyn_cast<mlir::FloatType>(element);
  return type ? valueOf(nothing, type) : valueOf(nothing, llvm::cast<mlir::IntegerType>(element));
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
    return replaceByValue(op, valueOfNothing(op.getKind(), element), rewriter);
  }
};

struct ProductOverNothing : mlir::OpRewritePattern<ir::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatMulOp op, PatternRewriter& rewriter) const override {
    if (!isEmpty(op.getLhs()) && !isEmpty(op.getRhs())) {
      return mlir::failure();
    }
    mlir::Type element = op.getType().getElementType();
    return replaceByValue(op, valueOfNothing(ir::ReduceKind::kSum, element), rewriter);
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
