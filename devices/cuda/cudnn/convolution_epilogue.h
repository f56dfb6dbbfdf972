// Tells which functions follow a convolution in the same kernel. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CONVOLUTION_EPILOGUE_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CONVOLUTION_EPILOGUE_H_

#include "devices/cuda/cudnn/convolution.h"

namespace graphrun::devices::cuda {

/// The bias and the post-ops of `instruction`, a convolution of these shapes. A tensor that is
/// added comes before the bias: so the library's engines want it.
///
/// Its engines (9.19, for sm_80 to sm_100) compute
/// - in any layout: a convolution; one with a bias, which a tensor may be added before and relu may
///   follow; a transposed convolution;
/// - with the channels last and up to two spatial dims: any of the post-ops that are known here
///   behind either of them; but with groups not of bf16.
/// Unimplemented for all else. A clip's upper bound only their slowest engine has: a kernel of its
/// own is faster.
absl::StatusOr<std::vector<EpilogueOp>> epilogueOf(const Instruction& instruction,
                                                   const Convolution& convolution);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CONVOLUTION_EPILOGUE_H_
