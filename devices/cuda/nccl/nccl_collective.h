// A member's part in a collective, through NCCL. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_NCCL_NCCL_COLLECTIVE_H_
#define GRAPHRUN_DEVICES_CUDA_NCCL_NCCL_COLLECTIVE_H_

#include "devices/cuda/kernels/kernel.h"

namespace graphrun::devices::cuda {

/// Takes every gr.collective_member of dense tensors whose elements NCCL combines, or gathers as
/// bytes. Its result may lie where its operand does where they have one size.
absl::StatusOr<KernelChoice> chooseCollective(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createCollective(const Instruction& instruction,
                                                         const KernelContext& context);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_NCCL_NCCL_COLLECTIVE_H_
