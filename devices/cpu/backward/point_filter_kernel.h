// This kernel computes gr.conv_backward_filter of filters of one element, f32. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_POINT_FILTER_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_POINT_FILTER_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// One product of matrices, of images with the channels last whose result is dense, for strides of
/// 1 and one group. Declines (Unimplemented) the rest.
absl::StatusOr<LayoutChoice> choosePointFilter(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createPointFilter(const Instruction& instruction,
                                                          KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_POINT_FILTER_KERNEL_H_
