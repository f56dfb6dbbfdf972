// A gr.conv or gr.conv_transpose instruction as cuDNN takes it. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CONVOLUTION_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CONVOLUTION_H_

#include <optional>
#include <vector>

#include "devices/cuda/cudnn/cudnn_graph.h"

namespace graphrun::devices::cuda {

/// One of the functions that are applied to a result, one after the other.
struct EpilogueOp {
  CudnnPointwise function;
  std::optional<Argument> operand;  ///< the second one, where it takes two
  CudnnShape shape;                 ///< of the operand
};

/// All tensors have at least two spatial dims, and lie in one of two ways in memory.
struct Convolution {
  bool transposed = false;
  bool channelsLast = false;
  cudnnDataType_t sumsIn = CUDNN_DATA_FLOAT;
  CudnnShape input, filter, result;
  CudnnWindow window;
  std::vector<EpilogueOp> epilogue;
};

/// The convolution of an instruction of gr.conv or gr.conv_transpose, of f32, f16 or bf16: input,
/// filter, perhaps a bias, and post-ops; attributes as on the CPU, and "tf32". gr.conv alone may
/// also be of u8 by i8 to i32, with the channels last (engines of 9.19 for sm_80 to sm_120).
/// InvalidArgument for what does not fit. Unimplemented where the library has no engine, or only
/// its slowest: see convolution_epilogue.h.
absl::StatusOr<Convolution> convolutionOf(const Instruction& instruction);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CONVOLUTION_H_
