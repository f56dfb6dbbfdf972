// This kernel computes gr.resize of f32, row by row. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_RESIZE_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_RESIZE_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Any mode and coordinate rule but crops, with scales that are known before the step runs, of
/// tensors whose dims lie in any order (channels last) or in channel blocks: the result's lie as
/// the operand's. Declines (Unimplemented) the rest.
absl::StatusOr<LayoutChoice> chooseResize(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createResizeRows(const Instruction& instruction,
                                                         KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_RESIZE_KERNEL_H_
