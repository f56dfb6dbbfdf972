// Generated kernels have dense layouts, or those in which convolutions leave their results.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_CHANNEL_BLOCKS_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_CHANNEL_BLOCKS_H_

#include "devices/compiler/value_table.h"
#include "devices/cpu/compiler/map_kernel.h"

namespace graphrun::devices::cpu {

/// Layouts of the operands and results of a map kernel, for buffers and for the code generator.
struct MapLayouts {
  llvm::SmallVector<TensorDesc> operands, results;
  llvm::SmallVector<KernelLayout> operandKernels;
  KernelLayout resultKernel;
};

/// Those of a kernel that works in `layout`; nothing when an operand cannot lie that way. The
/// operation must be element-wise throughout for other layouts than dense.
std::optional<MapLayouts> mapLayouts(mlir::Operation* op, KernelLayout layout);

/// N x C x … in a layout. Unimplemented for an element type without layouts.
absl::StatusOr<TensorDesc> descIn(runtime::ElementType type, const std::vector<int64_t>& dims,
                                  KernelLayout layout);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_CHANNEL_BLOCKS_H_
