// Kernels of operations that reduce rows: reductions, softmax, layer normalisation.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_ROW_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_ROW_KERNEL_H_

#include <string>

#include "devices/cuda/compiler/kernel_launch.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

/// Reason why `op` is no such operation, or one that no kernel can be generated for; empty when one
/// can.
std::string whyNotRowKernel(mlir::Operation* op);

/// Appends the kernel for `op`, on dense tensors, to `module`, for emitPtx. Sums are of f32, or f64
/// for f64: each thread's, then pairwise. Requires an empty whyNotRowKernel(op).
KernelLaunch buildRowKernel(mlir::ModuleOp module, mlir::Operation* op, const std::string& symbol);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_ROW_KERNEL_H_
