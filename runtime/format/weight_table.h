// Tensor types and the weight table of model.fb and Plan: their checks and their C++ form.
#ifndef GRAPHRUN_RUNTIME_FORMAT_WEIGHT_TABLE_H_
#define GRAPHRUN_RUNTIME_FORMAT_WEIGHT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/base/tensor.h"
#include "runtime/format/model_generated.h"

namespace graphrun::format {

/// Limits on what files may hold; beyond them a file is refused.
inline constexpr size_t kMaxRank = 16;
inline constexpr size_t kMaxNameBytes = 4096;
inline constexpr size_t kMaxWeights = size_t{1} << 20;
inline constexpr size_t kMaxStrings = size_t{1} << 26;

/// Alignment of every weight from the start of the weight section.
inline constexpr uint64_t kWeightAlignment = runtime::kTensorAlignment;

using WeightTable = flatbuffers::Vector<flatbuffers::Offset<WeightEntry>>;
using StringTable = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

/// Element type in range (or none in a type without rank: not known before planning), rank at most
/// kMaxRank, dims >= -1, size below 2^62, symbolic dims one a dim and only where the dim is not
/// static. Does not say where: annotate it.
absl::Status verifyTensorType(const TensorType& type);

/// True if all dims are known.
bool isStatic(const TensorType& type);

/// `type` with its dims; the dims must be static. The result owns its dims.
runtime::TensorSpec toSpec(const TensorType& type);

/// Checks names (present, unique), types (static), lengths (of the type, or of one element for a
/// splat), alignment, that the data lies within `sectionBytes` (of a model, or `planBytes` of
/// Plan.constants where in_plan is set), and that no two weights overlap;
/// weights of equal content may share their bytes as a whole. `table` may be null: no weights.
absl::Status verifyWeightTable(const WeightTable* table, uint64_t sectionBytes, uint64_t planBytes);

/// Checks that a table of strings holds each string once: equal strings have equal numbers. May be
/// null: no strings.
absl::Status verifyStrings(const StringTable* strings);

/// The text of an optional string; empty when absent. Valid while the buffer is.
absl::string_view textOf(const flatbuffers::String* text);

/// A name from a file, quoted for a message: at most 100 bytes, control characters escaped.
std::string inQuotes(absl::string_view name);

/// Number of elements of an optional vector.
template <typename Vector>
size_t sizeOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_WEIGHT_TABLE_H_
