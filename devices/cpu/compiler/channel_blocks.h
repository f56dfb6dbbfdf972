// Layouts of generated kernels: dense, or as convolutions leave their results.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_CHANNEL_BLOCKS_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_CHANNEL_BLOCKS_H_

#include "devices/cpu/compiler/map_kernel.h"
#include "devices/cpu/compiler/value_table.h"

namespace graphrun::devices::cpu {

/// Layouts of the operands and results of a map kernel, for buffers and for the code generator.
struct MapLayouts {
  llvm::SmallVector<TensorDesc> operands, results;
  llvm::SmallVector<KernelLayout> operandKernels;
  KernelLayout resultKernel;
};

/// The layout that an operand of the result's shape was produced in, if it is one of KernelLayout
/// and the operation is element-wise throughout; dense otherwise.
MapLayouts chooseMapLayouts(mlir::Operation* op, const ValueTable& values);

/// The layout of `desc` if it is one of KernelLayout; dense when it is another one.
KernelLayout kernelLayoutOf(const TensorDesc& desc);

/// N x C x … in a layout. Unimplemented for an element type without layouts.
absl::StatusOr<TensorDesc> descIn(runtime::ElementType type, const std::vector<int64_t>& dims,
                                  KernelLayout layout);

/// True for a mean over all spatial dims of an N x C x … tensor that keeps them as 1.
bool isSpatialMean(ir::ReduceOp op);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_CHANNEL_BLOCKS_H_
