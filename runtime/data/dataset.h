// A Dataset gives the samples of training data by their index. Public.
#ifndef GRAPHRUN_RUNTIME_DATA_DATASET_H_
#define GRAPHRUN_RUNTIME_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"

namespace graphrun::runtime {

/// A Field is one tensor of each sample.
struct Field {
  std::string name;   ///< of a model's input; "" stands for the model's only input
  TensorSpec sample;  ///< of one sample, without the batch's dim
};

/// Samples of inputs and a target. Immutable: any number of threads may read it. Programs derive
/// their own, for what is computed or read sample by sample.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Number of samples, at least 1.
  virtual int64_t count() const = 0;
  virtual const std::vector<Field>& inputs() const = 0;
  /// The loss compares it with the model's output.
  virtual const Field& target() const = 0;

  /// Writes the samples `indices`, each in [0, count()), in their order. `inputs` and `target` are
  /// tensors of indices.size() x a sample's dims, made by the caller. InvalidArgument for an index
  /// out of range or for tensors of other types or dims; then their content is undefined.
  virtual absl::Status fill(absl::Span<const int64_t> indices, absl::Span<HostTensor> inputs,
                            HostTensor& target) const = 0;

  /// OK when each target is an integer in [0, classes); else InvalidArgument that tells the first
  /// that is not, its sample and its file. A dataset that does not know says OK.
  virtual absl::Status checkLabels(int64_t /*classes*/) const { return absl::OkStatus(); }
};

/// The samples [begin, end) of a file, counted from 0.
struct SampleRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const SampleRange&) const = default;
};

/// IdxFiles are pictures and their labels in two IDX files (idx_file.h).
struct IdxFiles {
  std::string images{};  ///< N x the dims of a picture
  std::string labels{};  ///< N integers
  std::optional<SampleRange> range{};
  double scale = 1;  ///< the factor of a picture's numbers
  std::vector<int64_t>
      shape{};  ///< of a picture as the model wants it; empty: as it is in the file

  bool operator==(const IdxFiles&) const = default;
};

/// NpyFile is an array in NumPy's format, whose first dim counts samples.
struct NpyFile {
  std::string input{};  ///< the model's input that it is for
  std::string path{};

  bool operator==(const NpyFile&) const = default;
};

struct NpyFiles {
  std::vector<NpyFile> inputs{};
  std::string target{};  ///< path
  std::optional<SampleRange> range{};

  bool operator==(const NpyFiles&) const = default;
};

/// Reads both files into memory. The samples have one input, called "", of f32: number x scale, in
/// double precision, rounded once; and a target of i64 that is never negative. Fails with
/// NotFound or PermissionDenied, with InvalidArgument for files that are damaged or do not fit to
/// each other or to what is asked of them, with ResourceExhausted where memory has no room.
absl::StatusOr<std::unique_ptr<Dataset>> openIdx(const IdxFiles& files);

/// Reads all files into memory; element types stay what they are. Errors as for openIdx, and
/// InvalidArgument for arrays of strings.
absl::StatusOr<std::unique_ptr<Dataset>> openNpy(const NpyFiles& files);

/// The rows of tensors, which it keeps: their first dims count samples. InvalidArgument for tensors
/// of strings, of no dims, or of different numbers of samples.
///     GR_ASSIGN_OR_RETURN(auto data, datasetOf({{"x", std::move(x)}}, std::move(y)));
absl::StatusOr<std::unique_ptr<Dataset>> datasetOf(std::vector<NamedTensor> inputs,
                                                   HostTensor target);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_DATA_DATASET_H_
