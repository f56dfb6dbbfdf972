// Tells which operations of the dialect GPUs can run.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_SUPPORT_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_SUPPORT_H_

#include <string>

#include "mlir/IR/Operation.h"

namespace graphrun::devices::cuda {

/// True for what needs no kernel: constants, edges, views, the ends of graphs and groups.
bool needsNoKernel(mlir::Operation* op);

/// DeviceCompiler::whyUnsupported of GPUs: an operation has a library's kernel, or a generated one,
/// or is expanded into operations that have (expansions.h); a group where all that is in it has, so
/// that it can be taken apart.
std::string whyUnsupported(mlir::Operation* op);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_SUPPORT_H_
