// Stages: how a graph runs whose shapes depend on data.
#ifndef GRAPHRUN_PASSES_CUT_STAGES_H_
#define GRAPHRUN_PASSES_CUT_STAGES_H_

#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::passes {

/// A specialised graph is cut into stages, so that all that runs has static shapes.
struct Stages {
  /// Inputs whose elements decide shapes: give them to `specialize` with their elements, and cut
  /// again. When there are any, nothing was cut.
  std::vector<std::string> neededInputs;
  /// The remainder is done when the graph has run: one function, to be specialised with the shapes
  /// of its inputs, and with the elements of some. Null when the graph was whole.
  mlir::OwningOpRef<mlir::ModuleOp> rest;
  /// The inputs of `rest` come from these, by name: an output of the graph, or an input of it.
  std::vector<std::string> restInputs;
};

/// Cuts a specialised graph at the operations whose result types depend on elements that are not
/// known yet (GrOpInterface::shapeOperands). `func` keeps all that can run before, with the values
/// that the rest needs as further outputs. A rest looks the same whenever the graph does, so that
/// plans for it are found again: the iterations of a loop share theirs. Fails with a diagnostic on
/// an operation whose type no element would make known.
mlir::FailureOr<Stages> cutAtData(mlir::func::FuncOp func);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_CUT_STAGES_H_
