// A partition comes down to work items, and a kernel is selected for each.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_KERNEL_SELECTION_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_KERNEL_SELECTION_H_

#include "devices/cuda/compiler/work_item.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices::cuda {

/// The work items of a partition in execution order, the return last. An operation is a
/// library's instruction where one takes it, else a generated kernel, else it is expanded, which
/// changes `partition`. Behind a convolution or a product the library's kernel takes as much of the
/// group's epilogue as it can, and one generated kernel the rest. Unimplemented for what
/// whyUnsupported (support.h) declines. Where products read 8-bit floats, what would dequantise
/// them is left out.
absl::StatusOr<std::vector<WorkItem>> collectWorkItems(mlir::func::FuncOp partition,
                                                       const GpuTarget& target);

/// The candidate of each item such that little is copied between layouts.
std::vector<uint32_t> selectKernels(const std::vector<WorkItem>& items);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_KERNEL_SELECTION_H_
