#include "frontends/builder/imported_graph.h"

#include "frontends/builder/graph_impl.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/passes.h"
#include "passes/states.h"
#include "runtime/base/status.h"

namespace graphrun::builder {

absl::StatusOr<ImportedGraph> importInto(Graph& graph, ImportModule import) {
  GraphImpl& impl = GraphImpl::of(graph);
  ImportedGraph imported;
  mlir::ScopedDiagnosticHandler handler(impl.context(), [&](mlir::Diagnostic& diagnostic) {
    const std::string label = passes::labelOf(diagnostic.getLocation());
    imported.warnings.push_back(label.empty() ? diagnostic.str() : label + ": " + diagnostic.str());
    return mlir::success();
  });
  GR_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, import(*impl.context()));
  mlir::func::FuncOp function = *passes::graphOf(*module);
  llvm::SmallVector<mlir::Value> parameters;
  if (graph.mode() != Mode::kInference) {
    parameters = passes::makeParameters(function);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    imported.names.push_back(passes::outputName(function, i));
  }
  imported.outputs = impl.adopt(function, parameters);
  return imported;
}

}  // namespace graphrun::builder
