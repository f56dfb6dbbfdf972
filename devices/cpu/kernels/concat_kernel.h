// This kernel computes gr.concat by copying rows. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_CONCAT_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_CONCAT_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Chooses a concatenation of any type, where the dims of all operands lie in one order (dense,
/// channels last), which is the result's too. Declines (Unimplemented) the rest.
absl::StatusOr<LayoutChoice> chooseConcat(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createConcatRows(const Instruction& instruction,
                                                         KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_CONCAT_KERNEL_H_
