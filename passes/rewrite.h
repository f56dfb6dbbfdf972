// All passes rewrite by patterns with this.
#ifndef GRAPHRUN_PASSES_REWRITE_H_
#define GRAPHRUN_PASSES_REWRITE_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace graphrun::passes {

/// Applies `patterns` and folders to `func` until nothing changes, however many rounds that takes:
/// each rewrite must make the graph smaller or more constant. What a pattern makes gets the pin
/// (pins.h) of what it stands for: of the operation that it replaces, else of those that are read
/// by nothing else, else of the operation at which the pattern matched. Constants get none. Fails,
/// with an error that calls the work `what`, when it does not come to an end.
mlir::LogicalResult rewriteGreedily(mlir::func::FuncOp func,
                                    const mlir::FrozenRewritePatternSet& patterns,
                                    llvm::StringRef what);

/// `value`, a ranked tensor, with elements of type `element`; itself where it has those.
mlir::Value castTo(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                   mlir::Type element);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_REWRITE_H_
