// Keys tell kernels apart: those of operations before they are built, and those of code in a cache.
#ifndef GRAPHRUN_DEVICES_CODEGEN_KERNEL_NAMES_H_
#define GRAPHRUN_DEVICES_CODEGEN_KERNEL_NAMES_H_

#include <string>

#include "devices/codegen/llvm_code.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::codegen {

/// Returns what of `op` matters to its kernel, as bytes: not where it stands in the graph, on which
/// device and under which name, nor the numbers of `scalars`, which the kernel has as parameters.
/// Valid within one MLIR context.
std::string kernelKey(mlir::Operation* op, llvm::ArrayRef<mlir::Value> scalars = {});

/// Names the kernel in `module`, each of whose functions is called "kernel…", by its content and by
/// what it is compiled for: "NAME…". The name is the same in all processes.
std::string nameKernel(mlir::ModuleOp module, const CodeTarget& target);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_KERNEL_NAMES_H_
