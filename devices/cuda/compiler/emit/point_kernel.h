// Kernels of operations whose results are picked, joined or summed element by element: a thread for
// each. Movements: concat, split, pad, gather, gather_elements, gather_nd. Along an axis:
// arg_reduce, cumulative, squared_distance. Windows: pools, lrn, col2im.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_KERNEL_H_

#include <string>

#include "devices/cuda/compiler/emit/kernel_launch.h"
#include "ir/dialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

/// True for the operations above.
bool isPointOperation(mlir::Operation* op);

/// Reason why no kernel can be generated for such an operation of static shapes; empty when one
/// can.
std::string whyNotPointKernel(mlir::Operation* op);

/// True for pools that can be on tensors with the channels last, too.
bool isPoolOfAnyLayout(mlir::Operation* op);

/// Appends the kernel for `op` to `module`, for emitPtx. Its tensors are dense, or have the
/// channels last, which requires isPoolOfAnyLayout(op). Of an index that is out of range it
/// complains, and reads the nearest element. Requires an empty whyNotPointKernel(op).
KernelLaunch buildPointKernel(mlir::ModuleOp module, mlir::Operation* op, bool channelsLast,
                              const std::string& symbol);

/// Its parts, one a file: operations that move elements, that walk along an axis, or over windows.
KernelLaunch buildMovementKernel(mlir::ModuleOp module, mlir::Operation* op,
                                 const std::string& symbol);
KernelLaunch buildAxisKernel(mlir::ModuleOp module, mlir::Operation* op, const std::string& symbol);
KernelLaunch buildWindowKernel(mlir::ModuleOp module, mlir::Operation* op, bool channelsLast,
                               const std::string& symbol);
/// Why blocks are not added up by a kernel, told behind the operation's name; empty when they are.
std::string whyNotBlock(ir::Col2ImOp op);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_KERNEL_H_
