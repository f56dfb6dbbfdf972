// The kernel list takes the plans of oneDNN's kernels from here. Each declines (Unimplemented) what
// the library does not do exactly as the operation is defined. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_KERNELS_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_KERNELS_H_

#include "devices/cpu/onednn/onednn_primitive.h"

namespace graphrun::devices::cpu {

// onednn_conv.cpp
absl::StatusOr<PrimitivePlan> planConv(const Instruction& instruction, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planDeconv(const Instruction& instruction,
                                         const dnnl::engine& engine);
// onednn_conv_backward.cpp
absl::StatusOr<PrimitivePlan> planConvBackwardFilter(const Instruction& instruction,
                                                     const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planConvBackwardData(const Instruction& instruction,
                                                   const dnnl::engine& engine);
// onednn_matmul.cpp
absl::StatusOr<PrimitivePlan> planInnerProduct(const Instruction& instruction,
                                               const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planMatMul(const Instruction& instruction,
                                         const dnnl::engine& engine);
// onednn_pool.cpp
absl::StatusOr<PrimitivePlan> planPool(const Instruction& instruction, const dnnl::engine& engine);
// onednn_normalization.cpp
absl::StatusOr<PrimitivePlan> planSoftmax(const Instruction& instruction,
                                          const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planLrn(const Instruction& instruction, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planLayerNorm(const Instruction& instruction,
                                            const dnnl::engine& engine);
// onednn_elementwise.cpp
absl::StatusOr<PrimitivePlan> planEltwise(const Instruction& instruction,
                                          const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planBinary(const Instruction& instruction,
                                         const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planReduction(const Instruction& instruction,
                                            const dnnl::engine& engine);
// onednn_recurrent.cpp
absl::StatusOr<PrimitivePlan> planRecurrent(const Instruction& instruction,
                                            const dnnl::engine& engine);
// onednn_movement.cpp
absl::StatusOr<PrimitivePlan> planReorder(const Instruction& instruction,
                                          const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planConcat(const Instruction& instruction,
                                         const dnnl::engine& engine);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_KERNELS_H_
