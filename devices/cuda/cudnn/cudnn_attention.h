// Attention through cuDNN, whose engines keep the scores on the chip. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_ATTENTION_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_ATTENTION_H_

#include "devices/cuda/cudnn/cudnn_kernel.h"

namespace graphrun::devices::cuda {

/// gr.attention (see devices/executable/attention_instruction.h) of f16 or bf16 with columns of 8,
/// 16 … 256 neighbours that begin where 16 bytes do; a mask is of that type or of f32, with a value
/// for each key. Scores are of f32, the weights that values are multiplied with of the operands'
/// type. Query heads may share those of the keys. Any number of rows and keys. Nothing is
/// documented of rows that the mask hides wholly by minus infinity: compilers give it none
/// (compiler/expansions.h).
///
/// For all of that engines of 9.19 make plans, for sm_80 to sm_120. They are compiled for their
/// graph when the program is loaded.
absl::StatusOr<KernelChoice> chooseFusedAttention(const Instruction& instruction);
absl::StatusOr<CudnnPlan> planFusedAttention(const CudnnInstruction& known,
                                             const CudnnTarget& target);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_ATTENTION_H_
