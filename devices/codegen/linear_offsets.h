// Offsets in memory are sums over loops here, so that the divisions in them go.
#ifndef GRAPHRUN_DEVICES_CODEGEN_LINEAR_OFFSETS_H_
#define GRAPHRUN_DEVICES_CODEGEN_LINEAR_OFFSETS_H_

#include <optional>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/AffineExpr.h"

namespace graphrun::devices::codegen {

/// Returns the coefficient of each of `loops` loops in `offset`, and last the constant; nothing
/// when the offset is no such sum.
std::optional<llvm::SmallVector<int64_t>> coefficientsOf(mlir::AffineExpr offset, size_t loops);

/// `offset` without the divisions that cannot make a difference: dim i is in [0, loops[i]).
mlir::AffineExpr withoutDivisions(mlir::AffineExpr offset, llvm::ArrayRef<int64_t> loops);

/// A loop that is to be two, the inner one of `inner` iterations.
struct LoopSplit {
  unsigned loop;
  int64_t inner;
};

/// A split that rids `offset` of a division; nothing when there is none.
std::optional<LoopSplit> splitFor(mlir::AffineExpr offset, llvm::ArrayRef<int64_t> loops);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_LINEAR_OFFSETS_H_
