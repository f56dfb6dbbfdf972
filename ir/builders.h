// These functions create operations with inferred result types.
#ifndef GRAPHRUN_IR_BUILDERS_H_
#define GRAPHRUN_IR_BUILDERS_H_

#include "ir/dialect.h"
#include "mlir/IR/Builders.h"

namespace graphrun::ir {

/// Creates the gr operation `name` ("gr.conv") at the insertion point and derives its result types.
/// Fails, with the diagnostic on `loc`, when operands and attributes do not fit; nothing is
/// inserted then. `results` is needed only for operations of more than one result.
mlir::FailureOr<mlir::Operation*> createOp(mlir::OpBuilder& builder, mlir::Location loc,
                                           llvm::StringRef name, mlir::ValueRange operands,
                                           llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                                           unsigned results = 1);

/// Derives the result types of `op` again after its operands' types changed.
mlir::LogicalResult updateResultTypes(mlir::Operation* op);

/// Returns the type that a value of both types certainly has; null when they contradict each other.
mlir::Type joinTypes(mlir::Type a, mlir::Type b);

/// A gr.constant of int64 values: 1-D, or a scalar.
mlir::Value createInts(mlir::OpBuilder& builder, mlir::Location loc,
                       llvm::ArrayRef<int64_t> values);
/// A gr.constant of one value and rank 0, of integer or floating-point type.
mlir::Value createScalar(mlir::OpBuilder& builder, mlir::Location loc, mlir::Type element,
                         double value);

/// A gr.constant of static `type`, of integers or floating-point numbers, whose elements are all
/// `value`.
mlir::Value createFull(mlir::OpBuilder& builder, mlir::Location loc, mlir::RankedTensorType type,
                       double value);

/// The strings of a constant, or of a value that was evaluated while planning; nothing where they
/// are not known.
std::optional<llvm::SmallVector<llvm::StringRef>> stringsOf(mlir::Value value);

/// A constant attribute of strings. `type` is static; one string for each element.
mlir::DenseElementsAttr makeStrings(mlir::RankedTensorType type,
                                    llvm::ArrayRef<llvm::StringRef> strings);

/// The elements of a constant, or of a value that was evaluated while planning; null otherwise.
mlir::ElementsAttr knownElements(mlir::Value value);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_BUILDERS_H_
