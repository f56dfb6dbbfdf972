// These functions infer shapes over a whole function, and specialise it to concrete inputs.
#ifndef GRAPHRUN_PASSES_SHAPES_H_
#define GRAPHRUN_PASSES_SHAPES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "passes/resolve.h"

namespace graphrun::passes {

/// The type that holds what both types say; null when they contradict each other. Where they give
/// different expressions for a dim, the inferred one wins.
mlir::Type refineType(mlir::Type declared, mlir::Type inferred);

/// Gives each value of the function the most precise type that follows from the argument types and
/// from what was declared; sets the function's result types. Fails with a diagnostic on the
/// operation whose operands do not fit or whose declared types they contradict.
mlir::LogicalResult inferShapes(mlir::func::FuncOp func);

/// Shape that an input of the graph gets, and its elements where shapes depend on them.
struct InputShape {
  std::string input;
  llvm::SmallVector<int64_t> dims;
  mlir::ElementsAttr elements;  ///< of the input's type; null where any elements are to do
  mlir::Type element;           ///< of a tensor in a list
};

/// Fixes the shapes of the inputs, binds the symbols in their types and infers and folds until
/// nothing more becomes known, resolving control flow and deferred nodes (resolve.h). Inputs of
/// static type may be left out. Types that depend on data stay dynamic: firstDynamic finds them,
/// cutAtData (cut_stages.h) plans around them. An input that is a list, "x", becomes one input for
/// each tensor in it: "x[0]", "x[1]" …, or "x[]" when it is empty; lists in lists likewise. Fails
/// with diagnostics that name input or operation, what was got and what was expected; the function
/// is then of no further use.
mlir::LogicalResult specialize(mlir::func::FuncOp func, llvm::ArrayRef<InputShape> shapes,
                               const ResolveDeferred& resolveDeferred = {});

/// Gives the results of an operation, and of those inside a group, the types that follow from its
/// operands. Fails with a diagnostic as inferShapes does.
mlir::LogicalResult inferTypes(ir::GrOpInterface op);

/// True when the types of all results are static and a device can run the operation.
bool isStatic(mlir::Operation* op);

/// The first operation with a result that is not static; null when there is none.
mlir::Operation* firstDynamic(mlir::func::FuncOp func);

/// Reads "x:1x3x224x224" (or "x:" for a scalar); nothing when the text is not of this form.
std::optional<InputShape> parseInputShape(llvm::StringRef text);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_SHAPES_H_
