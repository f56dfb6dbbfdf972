// The passes and how they are registered; passes.td says what each does.
#ifndef GRAPHRUN_PASSES_PASSES_H_
#define GRAPHRUN_PASSES_PASSES_H_

#include <memory>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace graphrun::passes {

#define GEN_PASS_DECL
#include "passes/passes.h.inc"

/// The name of an input or output, for messages; "input 2" where it has none.
std::string inputName(mlir::func::FuncOp func, unsigned index);
std::string outputName(mlir::func::FuncOp func, unsigned index);

/// The name that the source model gave an operation or value: the text of its location. "" when
/// there is none.
std::string labelOf(mlir::Location loc);

/// The one function of a module of one graph; fails with a diagnostic on the module otherwise.
mlir::FailureOr<mlir::func::FuncOp> graphOf(mlir::ModuleOp module);

#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_PASSES_H_
