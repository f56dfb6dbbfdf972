// This kernel computes gr.conv_backward_filter of few channels a group, f32. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_PLANE_FILTER_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_PLANE_FILTER_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Dense images along one or two dims, in groups of few channels: each element of the filter is a
/// sum of products of rows, of which the sums are added in f64. Declines (Unimplemented) the rest.
absl::StatusOr<LayoutChoice> choosePlaneFilter(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createPlaneFilter(const Instruction& instruction,
                                                          KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_PLANE_FILTER_KERNEL_H_
