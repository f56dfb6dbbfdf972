// This kernel computes convolutions in groups over planes, one a channel. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_CONV_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_CONV_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// gr.conv of dense f32 in groups, depthwise ones among them, or of few channels, over one or two
/// spatial dims. Lanes are positions of a plane, so that groups may have any number of channels.
/// Strips of a group's planes are laid out with their padding, split by the remainders of the
/// strides, so that each tap of the window is the same shift for all positions.
absl::StatusOr<LayoutChoice> choosePlaneConv(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createPlaneConv(const Instruction& instruction,
                                                        KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_CONV_KERNEL_H_
