// Places in memory are sums over loops here, so that the divisions in them go.
#ifndef GRAPHRUN_DEVICES_CODEGEN_LINEAR_PLACES_H_
#define GRAPHRUN_DEVICES_CODEGEN_LINEAR_PLACES_H_

#include <optional>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/AffineExpr.h"

namespace graphrun::devices::codegen {

/// Returns the coefficient of each of `loops` loops in `place`, and last the constant; nothing when
/// the place is no such sum.
std::optional<llvm::SmallVector<int64_t>> coefficientsOf(mlir::AffineExpr place, size_t loops);

/// `place` without the divisions that cannot make a difference: dim i is in [0, loops[i]).
mlir::AffineExpr withoutDivisions(mlir::AffineExpr place, llvm::ArrayRef<int64_t> loops);

/// A loop that is to be two, the inner one of `inner` iterations.
struct LoopSplit {
  unsigned loop;
  int64_t inner;
};

/// A split that rids `place` of a division; nothing when there is none.
std::optional<LoopSplit> splitFor(mlir::AffineExpr place, llvm::ArrayRef<int64_t> loops);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_LINEAR_PLACES_H_
