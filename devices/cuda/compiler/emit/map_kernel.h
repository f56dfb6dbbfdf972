// One kernel for a group of element-wise, broadcast and movement operations: a thread for a vector.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_MAP_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_MAP_KERNEL_H_

#include <string>

#include "devices/codegen/map_nest.h"
#include "devices/cuda/compiler/emit/kernel_launch.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

using codegen::KernelLayout;

/// Appends the kernel for `op` to `module` as a function of the func, scf, vector, llvm and nvvm
/// dialects, for emitPtx. `operands` has one layout for each operand of `op`; all results have the
/// layout `result`; none is in channel blocks. Each thread computes 16 bytes of the widest result
/// or operand that it reads in order, where the innermost loop can be cut into such vectors; else
/// fewer, down to one element. Large extents and strides are parameters, so that kernels for other
/// shapes share the code. Requires an empty codegen::whyNotMap(op).
KernelLaunch buildMapKernel(mlir::ModuleOp module, mlir::Operation* op,
                            llvm::ArrayRef<KernelLayout> operands, KernelLayout result,
                            const std::string& symbol);

/// Elements that a thread of that kernel computes.
int64_t vectorLanes(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                    KernelLayout result);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_MAP_KERNEL_H_
