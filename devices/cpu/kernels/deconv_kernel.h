// gr.conv_transpose of f32 as a matrix product, whose columns are then spread. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_DECONV_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_DECONV_KERNEL_H_

#include <vector>

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// The filter as products read it: dims G x I/G x kernel x O/G, from the operation's I x O/G x
/// kernel or from themselves.
absl::StatusOr<std::vector<int64_t>> packedDeconvDims(const Instruction& instruction,
                                                      int64_t groups);

/// The operation's filter, as its bytes lie, under the packed dims.
absl::StatusOr<TensorDesc> deconvFilterSource(const TensorDesc& packed);

/// Takes its input and leaves its result with the channels last; the filter as I x taps x O/G.
/// Needs scratch memory for the products of one image. Declines (Unimplemented) what is fused
/// behind, and layouts other than these.
absl::StatusOr<LayoutChoice> chooseDeconvProduct(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createDeconvProduct(const Instruction& instruction,
                                                            KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_DECONV_KERNEL_H_
