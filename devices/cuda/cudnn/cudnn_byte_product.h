// Products of bytes by cuDNN. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_BYTE_PRODUCT_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_BYTE_PRODUCT_H_

#include "devices/cuda/cudnn/cudnn_kernel.h"

namespace graphrun::devices::cuda {

/// gr.matmul of u8 by one matrix of i8 to i32: exact. The elements of the matrix that are summed
/// lie side by side: attribute "transpose_rhs", or the strides of such a matrix. Nothing behind it.
///
/// It is asked for as a convolution with windows of one position, as neither cuDNN's own product
/// (9.19) nor cuBLASLt's takes bytes without a sign.
absl::StatusOr<KernelChoice> chooseByteProduct(const Instruction& instruction);
absl::StatusOr<CudnnPlan> planByteProduct(const CudnnInstruction& known, const CudnnTarget& target);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_BYTE_PRODUCT_H_
