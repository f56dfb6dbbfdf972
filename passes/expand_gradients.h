// Reverse-mode differentiation: gr.gradient becomes the operations that compute it.
#ifndef GRAPHRUN_PASSES_EXPAND_GRADIENTS_H_
#define GRAPHRUN_PASSES_EXPAND_GRADIENTS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::passes {

/// True when a gradient, or a gr.watch, is still to be expanded.
bool hasGradients(mlir::func::FuncOp func);

/// Puts the operations that compute it in the place of each gr.gradient, in their order: so a
/// gradient may be differentiated again. Walks the operations between the loss and what it is
/// differentiated by backwards and lets each add to the gradients of its operands
/// (GrOpInterface::buildGradient). Where a value has several users their gradients are added as
/// they are made: that of the last user first.
///
/// Warns, and gives zeros, where the loss does not depend on a value. Fails, with one error for
/// each problem, when operations between have no gradient, a shape is not static, the loss is no
/// floating-point number, or a value reaches it only through integers or steps. The function is
/// then of no further use.
mlir::LogicalResult expandGradients(mlir::func::FuncOp func);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_EXPAND_GRADIENTS_H_
