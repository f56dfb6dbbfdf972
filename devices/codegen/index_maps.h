// Index maps tell which elements of its operands an element of an operation's result is made of.
#ifndef GRAPHRUN_DEVICES_CODEGEN_INDEX_MAPS_H_
#define GRAPHRUN_DEVICES_CODEGEN_INDEX_MAPS_H_

#include <optional>

#include "ir/dialect.h"
#include "mlir/IR/AffineExpr.h"

namespace graphrun::devices::codegen {

/// One expression a dim of a value.
using Index = llvm::SmallVector<mlir::AffineExpr, 6>;

mlir::RankedTensorType tensorOf(mlir::Value value);

/// Operations that only move what is their first operand.
bool isMovement(mlir::Operation* op);

/// Indices of the operands of `op` for the element `index` of its result; nothing for an operation
/// that is not a map. Of a movement only the first operand has one.
std::optional<llvm::SmallVector<Index>> operandIndices(mlir::Operation* op,
                                                       llvm::ArrayRef<mlir::AffineExpr> index);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_INDEX_MAPS_H_
