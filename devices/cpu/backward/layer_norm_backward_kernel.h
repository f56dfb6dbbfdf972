// This kernel computes gr.layer_norm_backward of f32. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_LAYER_NORM_BACKWARD_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_LAYER_NORM_BACKWARD_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Dense tensors. Declines (Unimplemented) the rest. Sums are in f64, and their bits do not depend
/// on the number of threads.
absl::StatusOr<LayoutChoice> chooseLayerNormBackward(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createLayerNormBackward(const Instruction& instruction,
                                                                KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_LAYER_NORM_BACKWARD_KERNEL_H_
