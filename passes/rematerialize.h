// Values that are computed again, so that they need no memory in between.
#ifndef GRAPHRUN_PASSES_REMATERIALIZE_H_
#define GRAPHRUN_PASSES_REMATERIALIZE_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::passes {

/// Operation attribute: the operation computes again what another one has computed (unit).
inline constexpr llvm::StringLiteral kAgainAttr = "gr.again";

/// Returns whether `op` gives the same bits whenever it is computed in a step: it changes nothing
/// and meets no other device. States qualify, whose value is that of the step's begin; random
/// numbers do, too, as they follow from seed, position and step.
bool isRecomputable(mlir::Operation* op);

/// Clones operations of a graph so that they are computed as often as they stand in `order`, which
/// holds operations of its body in a topological order; of those that stand there twice all
/// `isRecomputable`. Users behind a repetition read its clone, if they are on its device
/// (`isTogether(producer, user)`, of operations as they were); outputs of the graph read what was
/// made first. A clone has the attributes of its operation and `gr.again`, and is called
/// "NAME/again". Returns `order` with the clones in their places; null for one that nothing would
/// read.
llvm::SmallVector<mlir::Operation*> rematerialize(
    llvm::ArrayRef<mlir::Operation*> order,
    llvm::function_ref<bool(mlir::Operation* producer, mlir::Operation* user)> isTogether);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_REMATERIALIZE_H_
