// These kernels compute gr.batch_norm_training and gr.batch_norm_backward of f32. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_BATCH_NORM_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_BATCH_NORM_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Images in planes, with the channels last or in blocks; the first result lies as the images do.
/// Declines (Unimplemented) the rest. Sums are in f64, and their bits do not depend on the number
/// of threads.
absl::StatusOr<LayoutChoice> chooseBatchNorm(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createBatchNormTraining(const Instruction& instruction,
                                                                KernelContext& context);
absl::StatusOr<std::unique_ptr<Kernel>> createBatchNormBackward(const Instruction& instruction,
                                                                KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_BATCH_NORM_KERNEL_H_
