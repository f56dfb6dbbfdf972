// Dims of tensor types are static, symbolic (affine over the graph's symbols) or unknown.
#ifndef GRAPHRUN_IR_DIMS_H_
#define GRAPHRUN_IR_DIMS_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace graphrun::ir {

/// One dim. A static dim has a value, a symbolic one an expression over s0, s1 …, an unknown one
/// neither. The elements of integer tensors are told in the same way (elementsOf), so that any
/// value is one; that of a tensor's dim is >= 0. Cheap to copy.
class Dim {
 public:
  /// Unknown.
  Dim() = default;
  /*implicit*/ Dim(int64_t value) : value_(value), isStatic_(true) {}
  /// Symbolic, or static when `expr` is a constant.
  static Dim symbolic(mlir::AffineExpr expr);

  bool isStatic() const { return isStatic_; }
  bool isUnknown() const { return !isStatic() && !expr_; }
  /// Only for a static dim.
  int64_t value() const { return value_; }
  /// Null for an unknown dim.
  mlir::AffineExpr expr(mlir::MLIRContext* context) const;

  /// The same number for every input.
  friend bool provablyEqual(const Dim& a, const Dim& b) {
    return !a.isUnknown() && a.isStatic_ == b.isStatic_ && a.value_ == b.value_ &&
           a.expr_ == b.expr_;
  }
  /// Different numbers for every input (both static).
  friend bool provablyDifferent(const Dim& a, const Dim& b) {
    return a.isStatic() && b.isStatic() && a.value_ != b.value_;
  }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// `divisor` > 0.
  Dim floorDiv(int64_t divisor) const;
  Dim ceilDiv(int64_t divisor) const;

 private:
  int64_t value_ = 0;
  bool isStatic_ = false;
  mlir::AffineExpr expr_;
};

using Dims = llvm::SmallVector<Dim, 6>;

/// The dims of a ranked tensor type; nothing for an unranked one.
std::optional<Dims> dimsOf(mlir::Type type);
inline std::optional<Dims> dimsOf(mlir::Value value) { return dimsOf(value.getType()); }

/// The tensor type with these dims; symbolic ones become a `#gr.dims` encoding.
mlir::RankedTensorType tensorType(llvm::ArrayRef<Dim> dims, mlir::Type elementType);

/// The dim that two broadcast to (NumPy); nothing when they cannot.
std::optional<Dim> broadcast(const Dim& a, const Dim& b);
/// Broadcast of two shapes; nothing when they cannot.
std::optional<Dims> broadcast(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

/// Product of dims; 1 for none.
Dim product(llvm::ArrayRef<Dim> dims);

/// "2x?x(s0 floordiv 2)".
std::string toString(llvm::ArrayRef<Dim> dims);

/// The elements of a small integer tensor (rank 0 or 1, at most 64 elements), wrapped around as its
/// type does, as far as they follow from constants and from dims of other tensors; nothing when not
/// even their number is known. This is how shapes that are computed by operations stay known.
std::optional<Dims> elementsOf(mlir::Value value);

/// The elements of a constant integer tensor; nothing when it is not constant.
std::optional<llvm::SmallVector<int64_t>> constantInts(mlir::Value value);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_DIMS_H_
