// An operation that only moves elements may become a strided view.
#ifndef GRAPHRUN_DEVICES_COMPILER_STRIDED_VIEWS_H_
#define GRAPHRUN_DEVICES_COMPILER_STRIDED_VIEWS_H_

#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Value.h"

namespace graphrun::devices {

/// A tensor of static shape as part of a dense one: `root`'s elements from `offset` on, dim i
/// stepping by strides[i].
struct StridedView {
  mlir::Value root;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> dims, strides;
};

/// `value` as a view of what is behind the operations of its block that make it: transposes,
/// reshapes, squeezes, splits, slices and gathers of one index. Nothing where a reshape would need
/// a copy.
std::optional<StridedView> viewOf(mlir::Value value);

/// Returns where the elements of `value` are to lie so that `result`, which is made of it by
/// transposes and reshapes alone, is dense. Nothing where that cannot be.
std::optional<StridedView> viewUnder(mlir::Value value, mlir::Value result);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_STRIDED_VIEWS_H_
