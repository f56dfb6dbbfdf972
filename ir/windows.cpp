#include "ir/windows.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"

namespace graphrun::ir {

mlir::LogicalResult checkWindow(mlir::Operation* op, const Window& window, size_t spatial) {
  auto size = [&](llvm::StringRef name, size_t got, size_t expected) -> mlir::LogicalResult {
    if (got == expected) {
      return mlir::success();
    }
    return op->emitOpError() << name << " has " << got << " entries, expected " << expected
                             << " for " << spatial << " spatial dims";
  };
  if (mlir::failed(size("strides", window.strides.size(), spatial)) ||
      mlir::failed(size("dilations", window.dilations.size(), spatial)) ||
      mlir::failed(size("pads", window.pads.size(), 2 * spatial))) {
    return mlir::failure();
  }
  for (int64_t value : llvm::concat<const int64_t>(window.strides, window.dilations)) {
    if (value < 1) {
      return op->emitOpError() << "strides and dilations must be at least 1, got " << value;
    }
  }
  return mlir::success();
}

Dim windowCount(const Window& window, size_t i, const Dim& in, int64_t kernel, bool ceilMode) {
  int64_t stride = window.strides[i];
  if (window.padding != WindowPadding::kExplicit) {
    return in.ceilDiv(stride);
  }
  size_t spatial = window.strides.size();
  int64_t extent = window.dilations[i] * (kernel - 1) + 1;
  int64_t margin = window.pads[spatial + i] - extent;  // after the input, less the last window
  Dim padded = in + Dim(window.pads[i]);
  if (!ceilMode) {
    return (padded + Dim(margin)).floorDiv(stride) + Dim(1);
  }
  // A window that starts in the padding at the end is dropped (as PyTorch and ONNX do): the count
  // is the lesser of ceil((padded + margin) / stride) + 1 and ceil(padded / stride).
  return (padded + Dim(std::min<int64_t>(margin + stride, 0))).ceilDiv(stride);
}

}  // namespace graphrun::ir
