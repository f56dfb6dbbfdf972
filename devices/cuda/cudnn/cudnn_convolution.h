// Convolutions by cuDNN. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_CONVOLUTION_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_CONVOLUTION_H_

#include "devices/cuda/cudnn/cudnn_kernel.h"

namespace graphrun::devices::cuda {

/// Accepts the instructions that convolutionOf takes.
absl::StatusOr<KernelChoice> chooseConvolution(const Instruction& instruction);
/// One graph: the convolution, and what follows it.
absl::StatusOr<CudnnPlan> planConvolution(const CudnnInstruction& known, const CudnnTarget& target);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_CONVOLUTION_H_
