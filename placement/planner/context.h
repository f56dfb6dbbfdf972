// A context is an MLIR context of the compile world: its dialects are loaded, its diagnostics
// collected.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_CONTEXT_H_
#define GRAPHRUN_PLACEMENT_PLANNER_CONTEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/format/model_file.h"

namespace graphrun::compiler {

/// One request's context. Errors that MLIR reports are kept for the status that the caller gets,
/// warnings for the user.
class Context {
 public:
  Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  mlir::MLIRContext& mlir() { return context_; }

  /// Reads the graph of `model` that is called so, "" for its first: the model must outlive the
  /// context, as weights stay where they are. InvalidArgument where there is none.
  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> load(const format::ModelFile& model,
                                                         absl::string_view graph = "");

  /// A status of `code` with `what` and all errors reported since the last call.
  absl::Status takeError(absl::StatusCode code, const std::string& what);
  /// All warnings reported since the last call, a line each.
  std::vector<std::string> takeWarnings() { return std::exchange(warnings_, {}); }

 private:
  mlir::MLIRContext context_;
  std::string errors_;
  std::vector<std::string> warnings_;
};

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_CONTEXT_H_
