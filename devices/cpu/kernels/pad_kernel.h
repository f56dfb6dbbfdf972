// This kernel pads with a value, row by row. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PAD_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PAD_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// gr.pad in mode "constant", of tensors whose dims lie in any order (channels last): the result's
/// lie as the operand's. Declines (Unimplemented) other modes and blocked layouts.
absl::StatusOr<LayoutChoice> choosePad(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createPad(const Instruction& instruction,
                                                  KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PAD_KERNEL_H_
