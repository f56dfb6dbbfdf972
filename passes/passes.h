// The passes and how they are registered; passes.td says what each does.
#ifndef GRAPHRUN_PASSES_PASSES_H_
#define GRAPHRUN_PASSES_PASSES_H_

#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/StringSet.h"
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

/// Names of the operations of a graph, constants excepted: of each all that its location holds, as
/// several may have become one.
llvm::StringSet<> operationNames(mlir::func::FuncOp func);

/// Function attribute: foldedNames (array of strings).
inline constexpr llvm::StringLiteral kFoldedAttr = "gr.folded";
/// Names of the source model's nodes of which `func` has no operation; ascending.
std::vector<std::string> foldedNames(mlir::func::FuncOp func);
/// Returns whether one of them matches a shell pattern.
bool isFolded(mlir::func::FuncOp func, const std::string& glob);
/// Returns the words of messages about the folded nodes that match it.
std::string foldedText(const std::string& glob);
/// Adds to them those of `names` that no operation of `func` has.
void noteFolded(mlir::func::FuncOp func, const llvm::StringSet<>& names);

/// The one function of a module of one graph; fails with a diagnostic on the module otherwise.
mlir::FailureOr<mlir::func::FuncOp> graphOf(mlir::ModuleOp module);

#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_PASSES_H_
