// This kernel computes gr.softmax of f32 and bf16 along elements that follow each other. Internal
// to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_SOFTMAX_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_SOFTMAX_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Takes tensors whose dims lie in any order with the axis last, as the result does; of a dense one
/// it wants another axis to be laid out last. Declines (Unimplemented) blocked layouts.
absl::StatusOr<LayoutChoice> chooseSoftmax(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createSoftmaxRows(const Instruction& instruction,
                                                          KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_SOFTMAX_KERNEL_H_
