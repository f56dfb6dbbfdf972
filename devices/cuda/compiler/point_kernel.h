// Kernels of operations whose results are picked, joined or summed element by element: a thread for
// each. Movements: concat, split, pad, gather, gather_elements, gather_nd. Along an axis:
// arg_reduce, cumulative, squared_distance. Windows: pools, lrn, col2im.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_POINT_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_POINT_KERNEL_H_

#include <string>

#include "devices/cuda/compiler/kernel_launch.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

/// True for the operations above.
bool isPointOperation(mlir::Operation* op);

/// Reason why no kernel can be generated for such an operation of static shapes; empty when one
/// can.
std::string whyNotPointKernel(mlir::Operation* op);

/// Appends the kernel for `op`, on dense tensors, to `module`, for emitPtx. An index that is out of
/// range reads the nearest element: a GPU has no way to complain in time. Requires an empty
/// whyNotPointKernel(op).
KernelLaunch buildPointKernel(mlir::ModuleOp module, mlir::Operation* op,
                              const std::string& symbol);

/// Its parts, one a file: operations that move elements, that walk along an axis, or over windows.
KernelLaunch buildMovementKernel(mlir::ModuleOp module, mlir::Operation* op,
                                 const std::string& symbol);
KernelLaunch buildAxisKernel(mlir::ModuleOp module, mlir::Operation* op, const std::string& symbol);
KernelLaunch buildWindowKernel(mlir::ModuleOp module, mlir::Operation* op,
                               const std::string& symbol);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_POINT_KERNEL_H_
