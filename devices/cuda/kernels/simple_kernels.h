// Kernels that compute no operation of their own: "generated" code and "copy". Internal to
// devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_KERNELS_SIMPLE_KERNELS_H_
#define GRAPHRUN_DEVICES_CUDA_KERNELS_SIMPLE_KERNELS_H_

#include "devices/cuda/kernels/kernel.h"

namespace graphrun::devices::cuda {

/// A kernel of the executable's code, launched with the instruction's grid, block and shared memory
/// on its parameters (Instruction::sizes tells their order).
absl::StatusOr<KernelChoice> chooseGenerated(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createGenerated(const Instruction& instruction,
                                                        const KernelContext& context);

/// The bytes of input 0 in output 0: both dense, of one size.
absl::StatusOr<KernelChoice> chooseCopy(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createCopy(const Instruction& instruction,
                                                   const KernelContext& context);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_KERNELS_SIMPLE_KERNELS_H_
