// A weight file has trained weights. Public.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_WEIGHT_FILE_H_
#define GRAPHRUN_FRONTENDS_BUILDER_WEIGHT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"

namespace graphrun::builder {

/// A safetensors file: named tensors, mapped and not read before they are used. `Graph::weight`
/// makes constants of them. Cheap to copy; the mapping lives as long as a copy or a graph that uses
/// it, and the file must not be changed in place meanwhile. Readable by any number of threads.
///
/// The format: 8 bytes with the length of the header (little-endian), the header (JSON: dtype,
/// shape and data_offsets of each name), and the data without gaps (Hugging Face, "Safetensors").
class WeightFile {
 public:
  /// A tensor of the file; `bytes` are its elements, row-major and little-endian.
  struct Entry {
    runtime::TensorSpec spec;
    absl::Span<const uint8_t> bytes;
  };

  /// Maps `path` and checks the whole header: InvalidArgument with what is wrong in it, or the
  /// failure to open the file.
  static absl::StatusOr<WeightFile> open(const std::string& path);

  const std::string& path() const;
  /// In the order of their names.
  std::vector<std::string> names() const;
  /// NotFound for a name that the file does not have; Unimplemented for a tensor whose dtype is no
  /// element type of GraphRun.
  absl::StatusOr<Entry> find(absl::string_view name) const;

 private:
  friend class Graph;
  struct Content;
  explicit WeightFile(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

  std::shared_ptr<const Content> content_;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_WEIGHT_FILE_H_
