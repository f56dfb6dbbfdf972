// The states of a graph: checks, and their way from constants and to them.
#ifndef GRAPHRUN_PASSES_STATES_H_
#define GRAPHRUN_PASSES_STATES_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::passes {

/// Fails, with a diagnostic for each, where a state is updated twice, where an update stands inside
/// control flow, or where states of one name differ in type or first value.
mlir::LogicalResult checkStates(mlir::func::FuncOp func);

/// The constants of a model that was not simplified which training would change: those of floating
/// point that are used, but numbers and what decides a shape.
llvm::SmallVector<mlir::Value> parameterConstants(mlir::func::FuncOp func);

/// Makes a state of each of them, called as the constant is; gives the states. A name that another
/// state has is made unique by a number.
llvm::SmallVector<mlir::Value> makeParameters(mlir::func::FuncOp func);

/// Moves operations that only updates of states depend on, and the updates, to right behind what
/// they wait for: nothing that a gradient is made of then lies in memory until all gradients are
/// known. A step does not see new values, so updates may stand anywhere.
void hoistUpdates(mlir::func::FuncOp func);

/// Makes a constant of each state, its first value, and removes updates: what is left infers.
void freezeStates(mlir::func::FuncOp func);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_STATES_H_
