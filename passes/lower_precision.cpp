// gr-lower-precision: products, and what lies between them, in bf16.
#include "ir/builders.h"
#include "ir/dialect.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/passes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_LOWERPRECISION
#include "passes/passes.h.inc"

namespace {

bool isF32(mlir::Type type) { return mlir::getElementTypeOrSelf(type).isF32(); }

/// A mean over all spatial dims: a pool.
bool isGlobalPool(mlir::Operation* op) {
  auto reduce = llvm::dyn_cast<ir::ReduceOp>(op);
  auto type =
      reduce ? llvm::dyn_cast<mlir::RankedTensorType>(reduce.getInput().getType()) : nullptr;
  if (!type || reduce.getKind() != ir::ReduceKind::kMean || type.getRank() < 3) {
    return false;
  }
  return llvm::equal(reduce.getAxes(), llvm::seq<int64_t>(2, type.getRank()));
}

bool isProduct(mlir::Operation* op) {
  return llvm::isa<ir::ConvOp, ir::MatMulOp>(op) && llvm::all_of(op->getOperandTypes(), isF32);
}

/// Returns whether `op` may lie between products, because it loses no more by rounding than they
/// do. Sums of many elements (normalisations, other reductions) are none of it.
bool canLieBetween(mlir::Operation* op) {
  return isGlobalPool(op) || op->hasTrait<ir::IsElementwise>() || ir::isView(op) ||
         llvm::isa<ir::TransposeOp, ir::SliceOp, ir::SplitOp, ir::ConcatOp, ir::ExpandOp,
                   ir::GatherOp, ir::PadOp, ir::MaxPoolOp, ir::AvgPoolOp, ir::SoftmaxOp>(op);
}

/// Rewrites one block, in order: what an operation reads has been decided on before.
class PrecisionLowering {
 public:
  explicit PrecisionLowering(mlir::MLIRContext* context)
      : builder_(context), to_(mlir::BFloat16Type::get(context)) {}

  void run(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block.without_terminator())) {
      if (isLow(&op)) {
        lower(&op);
      }
    }
    for (mlir::Operation* cast : llvm::reverse(casts_)) {
      if (cast->use_empty()) {
        cast->erase();
      }
    }
  }

 private:
  bool isLow(mlir::Operation* op) const {
    if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
        !llvm::all_of(op->getResultTypes(), isF32)) {
      return false;
    }
    auto reads = [&](mlir::Value operand) { return widened_.contains(operand); };
    return isProduct(op) || (canLieBetween(op) && llvm::any_of(op->getOperands(), reads));
  }

  void lower(mlir::Operation* op) {
    builder_.setInsertionPoint(op);
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      if (isF32(operand.get().getType())) {
        operand.set(narrowed(operand.get(), op->getLoc()));
      }
    }
    builder_.setInsertionPointAfter(op);
    for (mlir::OpResult result : op->getResults()) {
      mlir::Type wide = result.getType();
      result.setType(llvm::cast<mlir::RankedTensorType>(wide).clone(to_));
      auto cast = builder_.create<ir::CastOp>(op->getLoc(), wide, result,
                                              mlir::TypeAttr::get(builder_.getF32Type()),
                                              mlir::BoolAttr(), mlir::StringAttr());
      result.replaceAllUsesExcept(cast.getResult(), cast);
      widened_.insert(cast.getResult());
      narrowed_[cast.getResult()] = result;
      casts_.push_back(cast);
    }
  }

  /// `value` in bf16: what it was widened from, or one cast for all its readers.
  mlir::Value narrowed(mlir::Value value, mlir::Location loc) {
    mlir::Value& found = narrowed_[value];
    if (!found) {
      auto type = llvm::cast<mlir::RankedTensorType>(value.getType()).clone(to_);
      found = builder_.createOrFold<ir::CastOp>(loc, type, value, mlir::TypeAttr::get(to_),
                                                mlir::BoolAttr(), mlir::StringAttr());
    }
    return found;
  }

  mlir::OpBuilder builder_;
  mlir::Type to_;
  llvm::DenseSet<mlir::Value> widened_;  // results of lowered operations, in f32 again
  llvm::DenseMap<mlir::Value, mlir::Value> narrowed_;  // of these and of what else was narrowed
  llvm::SmallVector<mlir::Operation*> casts_;          // that widen
};

struct LowerPrecisionPass : impl::LowerPrecisionBase<LowerPrecisionPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal()) {
      PrecisionLowering(&getContext()).run(getOperation().getBody().front());
    }
  }
};

}  // namespace
}  // namespace graphrun::passes
