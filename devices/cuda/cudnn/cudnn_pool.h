// Pools by cuDNN. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_POOL_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_POOL_H_

#include "devices/cuda/cudnn/cudnn_kernel.h"

namespace graphrun::devices::cuda {

/// gr.max_pool and gr.avg_pool of f32, f16 or bf16 with the attributes that they have on the CPU;
/// no post-ops, no dilations.
absl::StatusOr<KernelChoice> choosePool(const Instruction& instruction);
absl::StatusOr<CudnnPlan> planPool(const CudnnInstruction& known, const CudnnTarget& target);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_POOL_H_
