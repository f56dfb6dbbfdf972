// Elements as they lie in memory, and as they are computed in.
#ifndef GRAPHRUN_DEVICES_CODEGEN_MEMORY_ELEMENTS_H_
#define GRAPHRUN_DEVICES_CODEGEN_MEMORY_ELEMENTS_H_

#include "mlir/IR/Builders.h"

namespace graphrun::devices::codegen {

/// Bool is one byte in memory; the other types are as wide as their elements.
mlir::Type memoryType(mlir::Type element);

/// `lanes` elements: a vector, or the element where there is one lane.
mlir::Type laneType(mlir::Type element, int64_t lanes);

/// A value of a memory type, or a vector of them, in the type `compute` (computeType, or the memory
/// type itself).
mlir::Value fromMemory(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                       mlir::Type compute);

/// The way back: `memory` is the element's memory type.
mlir::Value toMemory(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                     mlir::Type memory);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_MEMORY_ELEMENTS_H_
