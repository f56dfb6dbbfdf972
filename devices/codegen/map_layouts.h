// The operands of a map lie where its results are in a layout.
#ifndef GRAPHRUN_DEVICES_CODEGEN_MAP_LAYOUTS_H_
#define GRAPHRUN_DEVICES_CODEGEN_MAP_LAYOUTS_H_

#include <optional>
#include <vector>

#include "devices/codegen/map_nest.h"

namespace graphrun::devices::codegen {

/// An operand as a kernel reads it.
struct OperandLayout {
  std::vector<int64_t> dims;  ///< its own, or with a 1 before them where a constant is laid out so
  KernelLayout layout;        ///< dense where its elements lie alike then
};

/// Returns the layout of each operand of `op`, whose results (of static shapes, 3 to 5 dims unless
/// dense) have the layout `result`; nothing when one of them cannot lie that way.
std::optional<llvm::SmallVector<OperandLayout>> operandLayouts(mlir::Operation* op,
                                                               KernelLayout result);

/// Returns whether `op`, or each operation of a group, is element-wise or a constant.
bool isElementwiseThroughout(mlir::Operation* op);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_MAP_LAYOUTS_H_
