// This kernel computes gr.instance_norm of f32. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_INSTANCE_NORM_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_INSTANCE_NORM_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Dense tensors, and those with the channels last: the result lies as the operand. Declines
/// (Unimplemented) the rest.
absl::StatusOr<LayoutChoice> chooseInstanceNorm(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createInstanceNormRows(const Instruction& instruction,
                                                               KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_INSTANCE_NORM_KERNEL_H_
