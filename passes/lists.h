// Inputs that are lists of tensors.
#ifndef GRAPHRUN_PASSES_LISTS_H_
#define GRAPHRUN_PASSES_LISTS_H_

#include "passes/shapes.h"

namespace graphrun::passes {

/// Replaces each input of the function that is a list by one input for each tensor that `shapes`
/// has of it, and a gr.sequence of these: see `specialize`. Fails with a diagnostic when a list has
/// no tensors there, or when their numbers are not 0, 1 … without a gap.
mlir::LogicalResult expandLists(mlir::func::FuncOp func, llvm::ArrayRef<InputShape> shapes);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_LISTS_H_
