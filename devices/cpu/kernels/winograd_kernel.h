// This kernel computes gr.conv of f32 by Winograd's minimal filtering. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Channels of a block of an image.
inline constexpr int64_t kWinogradBlock = 16;

/// Takes an instruction whose attribute "algorithm" is winograd_4x4 or winograd_2x2 (results a
/// tile): 3 x 3 filters without groups, strides and dilations. Images have channels in blocks of
/// 16, or last; the filter is transformed at load. Needs scratch memory for a block of tiles.
/// Declines (Unimplemented) other instructions, and post-ops that vectors do not do
/// (vector_epilogue.h).
absl::StatusOr<LayoutChoice> chooseWinograd(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createWinograd(const Instruction& instruction,
                                                       KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_KERNEL_H_
