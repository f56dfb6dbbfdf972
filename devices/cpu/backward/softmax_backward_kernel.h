// This kernel computes gr.softmax_backward of f32. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_SOFTMAX_BACKWARD_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_SOFTMAX_BACKWARD_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Rows whose elements follow each other, of dense operands. Declines (Unimplemented) the rest.
/// Sums are in f64.
absl::StatusOr<LayoutChoice> chooseSoftmaxBackward(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createSoftmaxBackwardRows(const Instruction& instruction,
                                                                  KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_SOFTMAX_BACKWARD_KERNEL_H_
