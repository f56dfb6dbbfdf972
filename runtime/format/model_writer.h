// Writes model.fb: all of it or nothing.
#ifndef GRAPHRUN_RUNTIME_FORMAT_MODEL_WRITER_H_
#define GRAPHRUN_RUNTIME_FORMAT_MODEL_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/base/memory_file.h"
#include "runtime/base/tensor.h"
#include "runtime/format/model_generated.h"

namespace graphrun::format {

/// A weight to be written. `data` is not copied and must live until the file is written: a mapped
/// file, or memory of the caller.
struct WeightSource {
  std::string name;
  runtime::TensorSpec spec;
  bool splat = false;  // `data` is one element that stands for all
  absl::Span<const uint8_t> data;
};

/// Puts the graph into the builder; its Weight attributes are indices of the list of weights.
using BuildGraph =
    absl::FunctionRef<flatbuffers::Offset<Graph>(flatbuffers::FlatBufferBuilder& builder)>;

/// Writes a model to `path`. Weights of equal bytes are written once. The file is checked as a
/// reader would before anything is written, goes to a temporary file in the same folder, is synced
/// and renamed: `path` is the old file or the whole new one at any time, even after a power cut.
/// Weights are read twice and never held. Errors: InvalidArgument for a graph or weight that no
/// reader would accept; NotFound, PermissionDenied, ResourceExhausted (disk full) from the system;
/// no partial file stays behind. Thread-safe for different paths.
/// `strings`: what weights of strings are indices into, each once. `more`: graphs beside the first,
/// with names of their own.
absl::Status writeModelFile(const std::string& path, const std::string& producer,
                            const std::vector<WeightSource>& weights,
                            const std::vector<std::string>& strings, BuildGraph graph,
                            absl::Span<const BuildGraph> more = {});
/// The same to a file in memory, which is new and is sealed.
absl::Status writeModelFile(runtime::MemoryFile& file, const std::string& producer,
                            const std::vector<WeightSource>& weights,
                            const std::vector<std::string>& strings, BuildGraph graph,
                            absl::Span<const BuildGraph> more = {});

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_MODEL_WRITER_H_
