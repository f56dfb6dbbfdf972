// This kernel computes gr.recurrent_backward of f32. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_BACKWARD_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_BACKWARD_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Goes back step by step: the gradients of a step's sums, then their product with the recurrent
/// weights, which are packed as panels of 64 hidden values. Each thread has some panels. Bits do
/// not depend on the number of threads. Declines (Unimplemented) what RecurrentPlan::of declines.
absl::StatusOr<LayoutChoice> chooseRecurrentBackward(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createRecurrentBackward(const Instruction& instruction,
                                                                KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_BACKWARD_KERNEL_H_
