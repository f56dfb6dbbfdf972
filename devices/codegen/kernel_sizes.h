// Numbers that a kernel takes as parameters, so that kernels for other shapes share its code.
#ifndef GRAPHRUN_DEVICES_CODEGEN_KERNEL_SIZES_H_
#define GRAPHRUN_DEVICES_CODEGEN_KERNEL_SIZES_H_

#include <vector>

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace graphrun::devices::codegen {

/// Large extents, strides and offsets of one kernel: first they are collected, then, in the
/// function that has them as parameters, they are values. Small ones shape the code and stay in it.
class KernelSizes {
 public:
  /// Collects a number.
  void add(int64_t size);
  /// Collects those of `offset`: factors and summands. Divisors stay: to divide by a constant is
  /// cheap.
  void addOf(mlir::AffineExpr offset);

  /// Each collected number once, in the order of the parameters.
  const std::vector<int64_t>& numbers() const { return numbers_; }

  /// The parameters, of index type, in the function that is built next.
  void setParameters(mlir::ValueRange parameters) {
    parameters_.assign(parameters.begin(), parameters.end());
  }

  /// A number that was added, as a constant or a parameter.
  mlir::Value value(mlir::OpBuilder& builder, mlir::Location loc, int64_t size) const;

  /// An offset whose numbers were added, for these indices.
  mlir::Value apply(mlir::OpBuilder& builder, mlir::Location loc, mlir::AffineExpr offset,
                    mlir::ValueRange indices) const;

 private:
  mlir::AffineExpr withSymbols(mlir::AffineExpr offset) const;

  std::vector<int64_t> numbers_;
  llvm::SmallVector<mlir::Value> parameters_;
};

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_KERNEL_SIZES_H_
