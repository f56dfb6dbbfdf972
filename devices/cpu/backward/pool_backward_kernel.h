// This kernel computes gr.max_pool_backward and gr.avg_pool_backward of f32. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_POOL_BACKWARD_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_POOL_BACKWARD_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Images of one to three dims in planes, with the channels last or in blocks; the result lies as
/// the operands do. Declines (Unimplemented) the rest.
absl::StatusOr<LayoutChoice> choosePoolBackward(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createPoolBackward(const Instruction& instruction,
                                                           KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_POOL_BACKWARD_KERNEL_H_
