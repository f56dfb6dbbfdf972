// From a partition to pieces of work, and the choice of how to do each.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_PLAN_WORK_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_PLAN_WORK_H_

#include "devices/cuda/compiler/work.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices::cuda {

/// The pieces of work of a partition in execution order, the return last. An operation is a
/// library's instruction where one takes it, else a generated kernel, else it is expanded, which
/// changes `partition`. Behind a convolution or a product the library's kernel takes as much of the
/// group's epilogue as it can, and one generated kernel the rest. Unimplemented for what
/// whyUnsupported (support.h) declines. Where products read 8-bit floats, what would dequantise
/// them is left out.
absl::StatusOr<std::vector<Work>> planWork(mlir::func::FuncOp partition, const GpuTarget& target);

/// The candidate of each piece such that little is copied between layouts.
std::vector<uint32_t> selectKernels(const std::vector<Work>& work);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_PLAN_WORK_H_
