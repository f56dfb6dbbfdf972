// Kernels that compute no operation of their own: "generated" code and "copy". Internal to
// devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_KERNELS_SIMPLE_KERNELS_H_
#define GRAPHRUN_DEVICES_CUDA_KERNELS_SIMPLE_KERNELS_H_

#include "devices/cuda/kernels/kernel.h"

namespace graphrun::devices::cuda {

/// A kernel of the executable's code, launched with the step's grid, block and shared memory on its
/// parameters (Step::sizes tells their order).
absl::StatusOr<KernelChoice> chooseGenerated(const Step& step);
absl::StatusOr<std::unique_ptr<Kernel>> createGenerated(const Step& step,
                                                        const KernelContext& context);

/// The bytes of input 0 in output 0: both dense, of one size.
absl::StatusOr<KernelChoice> chooseCopy(const Step& step);
absl::StatusOr<std::unique_ptr<Kernel>> createCopy(const Step& step, const KernelContext& context);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_KERNELS_SIMPLE_KERNELS_H_
