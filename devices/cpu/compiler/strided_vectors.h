// Vectors of elements that lie a few elements apart in memory, from whole vectors and shuffles.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_STRIDED_VECTORS_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_STRIDED_VECTORS_H_

#include "mlir/IR/Builders.h"

namespace graphrun::devices::cpu {

/// Emits loads and stores of `lanes` elements of a type; of single elements where there is one
/// lane.
class StridedVectors {
 public:
  StridedVectors(mlir::OpBuilder& builder, mlir::Location loc, mlir::Type element, int64_t lanes)
      : builder_(builder), loc_(loc), element_(element), lanes_(lanes) {}

  /// The elements at `address`, `stride` apart: -1 or more, 0 gives the one element. Touches no
  /// memory outside the span of those elements.
  mlir::Value load(mlir::Value address, int64_t stride);

  /// Stores lane 0 of each of `values`, then lane 1, and so on.
  void storeInTurns(mlir::Value address, llvm::ArrayRef<mlir::Value> values);

 private:
  mlir::Type vectorType() const;
  mlir::Value loadAt(mlir::Value address, int64_t offset, mlir::Type type);
  void storeAt(mlir::Value value, mlir::Value address, int64_t offset);
  mlir::Value at(mlir::Value address, int64_t offset);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int32_t> lanes);
  mlir::Value loadApart(mlir::Value address, int64_t stride);
  unsigned alignment() const;

  mlir::OpBuilder& builder_;
  mlir::Location loc_;
  mlir::Type element_;
  int64_t lanes_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_STRIDED_VECTORS_H_
