// This kernel computes gr.reduce of f32 over any axes. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_REDUCE_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_REDUCE_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Every kind, of tensors whose dims lie in any order (channels last): the result's lie as the
/// operand's. Sums in f32, in parts that are added up. Declines (Unimplemented) blocked layouts.
absl::StatusOr<LayoutChoice> chooseReduce(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createReduceLines(const Instruction& instruction,
                                                          KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_REDUCE_KERNEL_H_
