// Folders read and write the elements of constants with these functions. Internal to ir/.
#ifndef GRAPHRUN_IR_FOLDING_H_
#define GRAPHRUN_IR_FOLDING_H_

#include <optional>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace graphrun::ir {

/// Results larger than this are not folded: they would bloat the file for little work saved.
inline constexpr int64_t kMaxFoldedElements = int64_t{1} << 16;

/// Static result type of `type` that is small enough to fold; null otherwise.
mlir::RankedTensorType foldableType(mlir::Type type);

/// `value` as dense numbers; null when it is none (a resource, or strings).
mlir::DenseElementsAttr denseOf(mlir::Attribute value);

/// Elements of a dense attribute as doubles (floating-point types) or integers.
llvm::SmallVector<double> floatsOf(mlir::DenseElementsAttr attr);
llvm::SmallVector<int64_t> intsOf(mlir::DenseElementsAttr attr);
/// Elements of either kind as doubles.
llvm::SmallVector<double> numbersOf(mlir::DenseElementsAttr attr);

/// Dense attribute of `type` from `values`, rounded to its element type. One value makes a splat.
mlir::DenseElementsAttr makeFloats(mlir::RankedTensorType type, llvm::ArrayRef<double> values);
mlir::DenseElementsAttr makeInts(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> values);

/// The constant of `type` from the elements at `offsets` (row-major) of `input`.
mlir::Attribute pick(mlir::DenseElementsAttr input, mlir::RankedTensorType type,
                     llvm::ArrayRef<int64_t> offsets);

/// Calls `visit(out, in)` for each element of `to`, where `in` is its offset in a row-major tensor
/// of shape `from` that broadcasts to `to`.
void forEachBroadcast(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                      llvm::function_ref<void(int64_t out, int64_t in)> visit);

/// True when `value` is a constant whose every element equals `number`.
bool isSplatOf(mlir::Attribute value, double number);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_FOLDING_H_
