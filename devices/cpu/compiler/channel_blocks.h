// Layouts of generated kernels: dense, or blocked by channels as convolutions leave their results.
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

/// The blocked layout that an operand of the result's shape was produced in, if the operation is
/// element-wise throughout; dense otherwise.
MapLayouts chooseMapLayouts(mlir::Operation* op, const ValueTable& values);

/// True for a mean over all spatial dims of an N x C x … tensor.
bool isSpatialMean(ir::ReduceOp op);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_CHANNEL_BLOCKS_H_
