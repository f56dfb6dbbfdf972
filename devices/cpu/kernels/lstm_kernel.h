// This kernel computes gr.recurrent of f32: the LSTM with its usual activations. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_LSTM_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_LSTM_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// The inputs of many steps are multiplied at once, then each step multiplies the hidden values and
/// applies the gates while their sums are in registers. Weights are packed as panels: 16 hidden
/// values, their four gates side by side. Declines (Unimplemented) other cells, activations and
/// options.
absl::StatusOr<LayoutChoice> chooseLstm(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createLstm(const Instruction& instruction,
                                                   KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_LSTM_KERNEL_H_
