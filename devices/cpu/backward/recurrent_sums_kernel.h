// This kernel computes gr.recurrent of f32 where its sums are kept for gradients. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_SUMS_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_SUMS_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Works as the LSTM of inference does (devices/cpu/kernels/lstm_kernel.h), but for other cells,
/// too, and packs the weights each time: a step of training changes them. Bits do not depend on the
/// number of threads. Declines (Unimplemented) what RecurrentPlan::of declines.
absl::StatusOr<LayoutChoice> chooseRecurrentSums(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createRecurrentSums(const Instruction& instruction,
                                                            KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_SUMS_KERNEL_H_
