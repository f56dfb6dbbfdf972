#include "ir/gradients/watch.h"

#include "ir/dialect.h"
#include "mlir/IR/Builders.h"

namespace graphrun::ir {

mlir::Value watch(mlir::Value value) {
  // An argument of control flow becomes what is passed, which may be a constant.
  bool isInput = llvm::isa<mlir::BlockArgument>(value) &&
                 !llvm::isa<IfOp, LoopOp>(value.getParentBlock()->getParentOp());
  if (isInput || value.getDefiningOp<WatchOp>()) {
    return value;
  }
  WatchOp watched;
  for (mlir::Operation* user : value.getUsers()) {
    watched = watched ? watched : llvm::dyn_cast<WatchOp>(user);
  }
  if (!watched) {
    mlir::OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    watched = builder.create<WatchOp>(value.getLoc(), value.getType(), value);
  }
  value.replaceAllUsesExcept(watched, watched);
  return watched;
}

}  // namespace graphrun::ir
