// ONNX files become gr modules.
#ifndef GRAPHRUN_FRONTENDS_ONNX_IMPORTER_H_
#define GRAPHRUN_FRONTENDS_ONNX_IMPORTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::frontends {

struct ImportOptions {
  /// The graph is to train: BatchNormalization and Dropout do what they do in training, whatever
  /// the file says, and each running statistic is a gr.state called as its initializer, which the
  /// graph updates. Random numbers are others in each step: they depend on the state kStepState, an
  /// i64 which the graph counts.
  bool training = false;
};

/// The state that counts the steps of a graph which trains and draws random numbers.
inline constexpr char kStepState[] = "training/step";

/// Imports the ONNX model in the file `path`.
///
/// The module holds one function, `main`: an argument for each graph input that has no initializer,
/// a result for each graph output, their names in `gr.name`. Dynamic dims are symbols
/// (`gr.symbols`): one for each distinct dim_param and one for each unnamed dynamic dim, called
/// "<input>.<dim>". Operations carry the ONNX node's name (node_names.h) and where it asks to run
/// (passes/device_hints.h) as their location; the names of nodes that became none are noted
/// (passes::foldedNames). Initializers, also those that are listed as inputs, are
/// constants; large ones are resources that own the parsed bytes, or map the files in the model's
/// folder where these lie, and live as long as `context`. Calls of the model's functions become the
/// nodes of their bodies, named "<call>/<node>".
///
/// Loads the dialects it needs into `context`, which no other thread may use meanwhile. Fails with
/// NotFound, InvalidArgument or, where memory lacks, Unavailable when the file cannot be read,
/// InvalidArgument when it is no ONNX model or one that GraphRun cannot run: the message then has
/// one line for each problem of the file.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(mlir::MLIRContext& context,
                                                             const std::string& path,
                                                             const ImportOptions& options = {});

/// The same for a serialised model in memory; `name` stands for the file's in messages. `bytes` may
/// go away afterwards.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnxBytes(mlir::MLIRContext& context,
                                                                  absl::string_view bytes,
                                                                  absl::string_view name);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_IMPORTER_H_
