// From the path that a user gives to a mapped model.fb.
#ifndef GRAPHRUN_RUNTIME_SESSION_MODEL_SOURCE_H_
#define GRAPHRUN_RUNTIME_SESSION_MODEL_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/format/model_file.h"
#include "runtime/session/session.h"
#include "runtime/worker/disk_cache.h"

namespace graphrun::runtime {

struct OpenModel {
  std::string path;  // of model.fb
  std::shared_ptr<const format::ModelFile> model;
  bool imported = false;                         // an ONNX file that was not in the cache
  std::shared_ptr<const ScratchFolder> scratch;  // that has model.fb where the cache takes none
};

/// Assigns a failure of a model to its domain: to running where memory lacks (Unavailable) or the
/// fault is ours (Internal), else to the model itself. OK stays OK.
absl::Status modelError(const absl::Status& status);

/// Opens model.fb, or imports an ONNX file (told by its ending) into the cache and opens that. The
/// key of the cache is the file's content; with external data, also the files beside it. What is
/// damaged in the cache is imported again, and where there is no room the file lies elsewhere as
/// long as the model is open: both with a warning.
absl::StatusOr<OpenModel> openModel(const std::string& path, Compiler& compiler, DiskCache& cache);

/// Inputs and outputs of a model's graph.
std::vector<ModelPort> inputPorts(const format::Graph& graph);
std::vector<ModelPort> outputPorts(const format::Graph& graph);

/// True when `name` is the name of a tensor in the list `port`.
bool isInList(const ModelPort& port, absl::string_view name);

/// Checks that `given` are the inputs that `ports` ask for: names, types, dims, and equal dims for
/// equal symbols. All problems are in one InvalidArgument message.
absl::Status checkInputs(absl::Span<const ModelPort> ports, absl::Span<const NamedSpec> given);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_MODEL_SOURCE_H_
