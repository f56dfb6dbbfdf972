// model.fb holds a graph and its weights in one file, mapped into memory.
//
//   FileHeader (64 bytes) | FlatBuffer (Model) | zeros up to a page | weights, each aligned to 64
#ifndef GRAPHRUN_RUNTIME_FORMAT_MODEL_FILE_H_
#define GRAPHRUN_RUNTIME_FORMAT_MODEL_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/tensor.h"
#include "runtime/format/model_generated.h"

namespace graphrun::format {

/// Version of the file layout and of the schema that this program writes. It reads all up to it.
inline constexpr uint32_t kModelVersion = 1;

/// The weight section starts at a multiple of this. A machine with larger pages (ppc64el) reads the
/// file as well, since the file is mapped from its start.
inline constexpr uint64_t kPageAlignment = 4096;

/// First bytes of a model file; little-endian.
struct FileHeader {
  static constexpr char kMagic[8] = {'G', 'R', 'M', 'O', 'D', 'E', 'L', '\n'};
  static constexpr uint32_t kByteOrder = 0x01020304;

  char magic[8];
  uint32_t version;
  uint32_t byteOrder;
  uint64_t graphOffset;     // of the FlatBuffer; 64
  uint64_t graphLength;     // bytes
  uint64_t graphChecksum;   // XXH3-64 of the FlatBuffer
  uint64_t weightsOffset;   // of the weight section, multiple of kPageAlignment
  uint64_t weightsLength;   // bytes; the file ends there
  uint64_t headerChecksum;  // XXH3-64 of the bytes before
};
static_assert(sizeof(FileHeader) == 64);

/// A model that has been verified and may be believed. Readable by any number of threads.
/// The weights are pages of the file: nothing is read before it is touched.
class ModelFile {
 public:
  /// Maps and verifies `path`: header, FlatBuffer, graph, weight table. The weights' content is
  /// not read; `weight` checks it. The graph is copied, so that it stays what was verified when
  /// somebody writes to the file. Errors name the file, what was got and expected, and the remedy.
  static absl::StatusOr<std::shared_ptr<const ModelFile>> open(const std::string& path);

  /// As `open`, of a file in memory. `bytes` must be aligned to 64 and outlive the result; `name`
  /// is for messages.
  static absl::StatusOr<std::shared_ptr<const ModelFile>> fromBytes(absl::Span<const uint8_t> bytes,
                                                                    absl::string_view name);
  /// As `fromBytes`, for bytes whose weights another ModelFile has found right (verifyWeights).
  static absl::StatusOr<std::shared_ptr<const ModelFile>> fromCheckedBytes(
      absl::Span<const uint8_t> bytes, absl::string_view name);

  const Model& model() const { return *model_; }
  /// The whole file, as it is now.
  absl::Span<const uint8_t> bytes() const { return bytes_; }
  /// Returns whether anybody wrote to the mapped file since it was opened.
  bool wasWritten() const { return file_.change() != runtime::FileChange::kNone; }
  /// OK while the file is what was opened; reads all of it when it was written to. DataLoss.
  absl::Status checkUnchanged() const;
  /// The first graph: what a run of the model runs that names none.
  const Graph& graph() const { return *model_->graph(); }
  /// The graph of that name, "" for the first; null where there is none.
  const Graph* findGraph(absl::string_view name) const;
  /// All graphs, the first one first.
  std::vector<const Graph*> graphs() const;

  /// Identity of the content: XXH3-64 of header and FlatBuffer, which hold the weights' checksums.
  uint64_t hash() const { return hash_; }

  size_t weightCount() const;
  /// Type and shape of weight `index`, which must be in range.
  runtime::TensorSpec weightSpec(size_t index) const;
  /// Bytes of weight `index`, aligned to 64; of one element if the entry is a splat. Checks the
  /// checksum on the first call for each weight, and on every one once the file was written to;
  /// fails with DataLoss if the data is damaged or not there any more, and with OutOfRange for an
  /// index out of range. Thread-safe. The span lives as long as this object.
  absl::StatusOr<absl::Span<const uint8_t>> weight(size_t index) const;
  /// Lets go of the memory that a mapped weight takes, until it is read again. Does nothing for a
  /// file that was not mapped here.
  void release(size_t index) const;
  /// Checks all weights as weight() does; the first time it reads the whole file.
  absl::Status verifyWeights() const;

 private:
  ModelFile() = default;
  absl::Status load(absl::Span<const uint8_t> bytes, absl::string_view name);
  absl::Status parse(absl::Span<const uint8_t> bytes);
  /// Why the file is not what was opened, if it is shorter.
  absl::Status checkLength() const;

  runtime::MappedFile file_;
  absl::Span<const uint8_t> bytes_;
  std::string name_;
  std::vector<uint8_t> graph_;  // of a mapped file, the FlatBuffer
  const Model* model_ = nullptr;
  absl::Span<const uint8_t> weights_;
  uint64_t hash_ = 0;
  // One flag a weight: its checksum has been found right.
  mutable std::unique_ptr<std::atomic<bool>[]> checked_;
};

/// Verifies the FlatBuffer of a model file: structure, version, weight table (within
/// `sectionBytes`) and graphs, which have different names and agree on the types of states.
/// `buffer` must be aligned to 8. The result points into `buffer`.
absl::StatusOr<const Model*> verifyModelBuffer(absl::Span<const uint8_t> buffer,
                                               uint64_t sectionBytes);

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_MODEL_FILE_H_
