// This kernel computes transposed convolutions over planes, one a channel. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_DECONV_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_DECONV_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// gr.conv_transpose of dense f32 over one or two spatial dims. The results at every stride-th
/// position are sums of shifted planes; those of all remainders are then put between each other.
absl::StatusOr<LayoutChoice> choosePlaneDeconv(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createPlaneDeconv(const Instruction& instruction,
                                                          KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_DECONV_KERNEL_H_
