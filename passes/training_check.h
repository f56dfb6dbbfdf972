// Asks whether a graph could be trained.
#ifndef GRAPHRUN_PASSES_TRAINING_CHECK_H_
#define GRAPHRUN_PASSES_TRAINING_CHECK_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::passes {

/// Differentiates the sum of all elements of the floating-point results of `func`, a specialised
/// graph, with respect to `values` of it, which are floating-point. Fails, with an error for each
/// operation that has no gradient (expandGradients), also when there is no such result. `func` is
/// then of no further use; else it has the gradients as results.
mlir::LogicalResult differentiateResults(mlir::func::FuncOp func, mlir::ValueRange values);

/// The same with respect to the parameters: the floating-point constants that are no scalars and
/// decide no shape. Returns how many there are; fails when there is none.
mlir::FailureOr<size_t> differentiateByParameters(mlir::func::FuncOp func);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_TRAINING_CHECK_H_
