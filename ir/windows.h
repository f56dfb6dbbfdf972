// Windows that slide over the spatial dims of convolutions and pools. Internal to ir/.
#ifndef GRAPHRUN_IR_WINDOWS_H_
#define GRAPHRUN_IR_WINDOWS_H_

#include "ir/dialect.h"
#include "ir/dims.h"

namespace graphrun::ir {

/// A sliding window over the spatial dims of an operation: the attributes of GR_WindowAttrs.
struct Window {
  llvm::ArrayRef<int64_t> strides, dilations, pads;
  WindowPadding padding = WindowPadding::kExplicit;
};

/// The window of an operation that has these attributes.
template <typename Op>
Window windowOf(Op op) {
  return {op.getStrides(), op.getDilations(), op.getPads(), op.getPadding()};
}

/// Fails unless the attributes have an entry for each of `spatial` dims, or two, and strides and
/// dilations are positive.
mlir::LogicalResult checkWindow(mlir::Operation* op, const Window& window, size_t spatial);

/// Returns how many windows of extent `kernel` there are along spatial dim `i` of an input of dim
/// `in`. With `ceilMode` the last one may reach behind the padding.
Dim windowCount(const Window& window, size_t i, const Dim& in, int64_t kernel, bool ceilMode);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_WINDOWS_H_
