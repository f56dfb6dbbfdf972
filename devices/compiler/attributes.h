// MLIR attributes and types become the executable's plain data here.
#ifndef GRAPHRUN_DEVICES_COMPILER_ATTRIBUTES_H_
#define GRAPHRUN_DEVICES_COMPILER_ATTRIBUTES_H_

#include "absl/status/statusor.h"
#include "devices/executable/executable.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace graphrun::devices {

/// The attributes of `op` that describe the operation (not where it runs).
absl::StatusOr<Attributes> attributesOf(mlir::Operation* op);

/// Bytes of a constant as models store them: dense, row-major, a bool one byte.
absl::StatusOr<std::vector<uint8_t>> denseBytes(mlir::ElementsAttr value);

/// Type and dims of a value of static shape, with the dense layout.
TensorDesc denseDesc(mlir::Value value);

/// The name of the node that `op` came from, for messages and traces.
std::string labelOf(mlir::Operation* op);
/// `status` with the label and the kind of `op` in front.
absl::Status annotateWith(mlir::Operation* op, const absl::Status& status);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_ATTRIBUTES_H_
