// Transposition by tiles in shared memory: rows are read in order, and columns written in order.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_TILE_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_TILE_KERNEL_H_

#include <string>

#include "devices/cuda/compiler/emit/kernel_launch.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

/// True if `op` is a gr.transpose of static shapes that is faster by tiles than element by element:
/// neighbours in the operand are none in the result, and there are enough of both.
bool isTileKernel(mlir::Operation* op);

/// Appends the kernel for `op` to `module`, for emitPtx. A block of 256 threads moves a tile of
/// 32 x 32 elements, or of as many words of 4 bytes where elements are smaller and even in number;
/// what it reads and writes in global memory is in order, and no two threads of a warp meet in a
/// bank of shared memory. Extents and strides are parameters. Requires isTileKernel(op).
KernelLaunch buildTileKernel(mlir::ModuleOp module, mlir::Operation* op, const std::string& symbol);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_TILE_KERNEL_H_
