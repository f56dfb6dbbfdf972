// This kernel computes gr.deform_conv of f32 as a matrix product. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_DEFORM_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_DEFORM_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Interpolates what each element of the filter reads into scratch memory, for one image at a time,
/// and multiplies. Dense tensors, the filter packed; declines (Unimplemented) other types, and a
/// filter that is made at run time.
absl::StatusOr<LayoutChoice> chooseDeformProduct(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createDeformProduct(const Instruction& instruction,
                                                            KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_DEFORM_KERNEL_H_
