// A module of another frontend becomes a graph of the builder, to go on with. Internal: it has
// MLIR.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_IMPORTED_GRAPH_H_
#define GRAPHRUN_FRONTENDS_BUILDER_IMPORTED_GRAPH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/builder/graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::builder {

/// An ImportedGraph tells what came of an import.
struct ImportedGraph {
  std::vector<std::string> names;     ///< of its outputs
  std::vector<Tensor> outputs;        ///< which are none of the graph's yet
  std::vector<std::string> warnings;  ///< of the import, a line each
};

/// Makes a module of one function in the graph's context.
using ImportModule =
    llvm::function_ref<absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>(mlir::MLIRContext&)>;

/// Puts what `import` makes into `graph`, in which nothing was made yet: its inputs become the
/// graph's. In a graph that is no inference its weights become parameters
/// (passes::makeParameters). Errors are those of `import`.
absl::StatusOr<ImportedGraph> importInto(Graph& graph, ImportModule import);

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_IMPORTED_GRAPH_H_
