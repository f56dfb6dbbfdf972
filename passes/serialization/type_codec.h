// Types are converted between the gr dialect and files.
#ifndef GRAPHRUN_PASSES_SERIALIZATION_TYPE_CODEC_H_
#define GRAPHRUN_PASSES_SERIALIZATION_TYPE_CODEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/base/tensor.h"
#include "runtime/format/model_generated.h"

namespace graphrun::passes {

/// The most dims of a tensor in a model file.
inline constexpr size_t kMaxRank = 16;

/// kInvalid for a type that files do not have.
runtime::ElementType elementTypeOf(mlir::Type type);
/// Null for kInvalid and values outside the enum.
mlir::Type elementTypeOf(runtime::ElementType type, mlir::MLIRContext* context);

/// A tensor type, or an element type as a scalar, in a file.
absl::StatusOr<flatbuffers::Offset<format::TensorType>> exportType(
    mlir::Type type, flatbuffers::FlatBufferBuilder& builder);

/// The tensor type that a file gives; `symbols` is how many the graph has. Checks everything.
absl::StatusOr<mlir::TensorType> importType(const format::TensorType& type, size_t symbols,
                                            mlir::MLIRContext* context);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_SERIALIZATION_TYPE_CODEC_H_
