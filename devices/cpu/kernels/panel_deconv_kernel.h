// This kernel computes transposed convolutions as products with panels of the filter. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PANEL_DECONV_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PANEL_DECONV_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// gr.conv_transpose of f32 with the channels last, over one or two spatial dims. The results at
/// every stride-th position are a convolution of their own with the taps that fall there (a 4 x 4
/// window of stride 2 is four of 2 x 2), whose products are summed where they stay in a cache, and
/// are stored once. The same bits on any number of threads. Declines (Unimplemented) few
/// channels, and machines of vectors with less than 16 floats.
absl::StatusOr<LayoutChoice> choosePanelDeconv(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createPanelDeconv(const Instruction& instruction,
                                                          KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PANEL_DECONV_KERNEL_H_
