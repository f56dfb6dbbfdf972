// The shape functions of all families share these helpers. Internal to ir/.
#ifndef GRAPHRUN_IR_INFER_H_
#define GRAPHRUN_IR_INFER_H_

#include "ir/dialect.h"
#include "ir/dims.h"

namespace graphrun::ir {

using Types = llvm::SmallVectorImpl<mlir::Type>;

inline mlir::Type elementOf(mlir::Value value) {
  return llvm::cast<mlir::TensorType>(value.getType()).getElementType();
}

/// Appends the type with `dims`, or the unranked one when `dims` is not known.
inline mlir::LogicalResult push(Types& types, const std::optional<Dims>& dims, mlir::Type element) {
  types.push_back(dims ? mlir::Type(tensorType(*dims, element))
                       : mlir::Type(mlir::UnrankedTensorType::get(element)));
  return mlir::success();
}

/// Fails unless `value` is of rank `rank`, where that is known.
inline mlir::LogicalResult requireRank(mlir::Operation* op, mlir::Value value, llvm::StringRef what,
                                       size_t rank) {
  std::optional<Dims> dims = dimsOf(value);
  if (!dims || dims->size() == rank) {
    return mlir::success();
  }
  return op->emitOpError() << what << " is of rank " << dims->size() << ", expected " << rank;
}

/// Fails unless the elements of `value` are of a type that is computed in.
inline mlir::LogicalResult requireComputed(mlir::Operation* op, mlir::Value value,
                                           llvm::StringRef what) {
  if (isComputed(elementOf(value)) || isStrings(value.getType())) {  // TakesStrings tells which
    return mlir::success();
  }
  return op->emitOpError() << what << " has element type " << elementOf(value)
                           << ", which is only stored and converted; cast it first";
}

/// Fails unless `value` is of a floating-point type that is computed in.
inline mlir::LogicalResult requireFloat(mlir::Operation* op, mlir::Value value,
                                        llvm::StringRef what) {
  if (llvm::isa<mlir::FloatType>(elementOf(value))) {
    return requireComputed(op, value, what);
  }
  return op->emitOpError() << what << " has element type " << elementOf(value)
                           << ", expected a floating-point type";
}

/// Fails unless both values have one element type.
inline mlir::LogicalResult requireSameElement(mlir::Operation* op, mlir::Value a, mlir::Value b) {
  if (elementOf(a) == elementOf(b)) {
    return mlir::success();
  }
  return op->emitOpError() << "operands have element types " << elementOf(a) << " and "
                           << elementOf(b) << ", expected one type; cast one of them";
}

/// True for the form that quantized models multiply in: u8 by i8, summed in i32.
inline bool isQuantizedProduct(mlir::Value lhs, mlir::Value rhs) {
  return elementOf(lhs).isUnsignedInteger(8) && elementOf(rhs).isSignlessInteger(8);
}

/// The element type of a product's result, where the operands' types have been checked.
inline mlir::Type productElement(mlir::Value lhs, mlir::Value rhs) {
  return isQuantizedProduct(lhs, rhs) ? mlir::IntegerType::get(lhs.getContext(), 32)
                                      : elementOf(lhs);
}

/// Fails unless `value` has an integer element type and, where its rank is known, rank 1.
mlir::LogicalResult requireIntVector(mlir::Operation* op, mlir::Value value, llvm::StringRef what);

/// Result dims given by a shape operand: its elements, or its length as rank, or nothing.
std::optional<Dims> dimsFromShape(mlir::Value shape);

/// Fails unless axes are ascending, unique and in [0, rank).
mlir::LogicalResult requireAxes(mlir::Operation* op, llvm::ArrayRef<int64_t> axes, int64_t rank);

/// Fails unless -rank <= `axis` < max(rank, `least`): a negative axis counts from the end. `least`
/// is 1 where a scalar is one element along axis 0.
mlir::LogicalResult requireSignedAxis(mlir::Operation* op, int64_t axis, int64_t rank,
                                      int64_t least = 0);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_INFER_H_
