// The kernel list takes the plans of oneDNN's kernels from here. Each declines (Unimplemented) what
// the library does not do exactly as the operation is defined. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_KERNELS_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_KERNELS_H_

#include "devices/cpu/onednn/onednn_primitive.h"

namespace graphrun::devices::cpu {

// onednn_conv.cpp
absl::StatusOr<PrimitivePlan> planConv(const Step& step, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planDeconv(const Step& step, const dnnl::engine& engine);
// onednn_matmul.cpp
absl::StatusOr<PrimitivePlan> planInnerProduct(const Step& step, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planMatMul(const Step& step, const dnnl::engine& engine);
// onednn_pool.cpp
absl::StatusOr<PrimitivePlan> planPool(const Step& step, const dnnl::engine& engine);
// onednn_normalization.cpp
absl::StatusOr<PrimitivePlan> planSoftmax(const Step& step, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planLrn(const Step& step, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planLayerNorm(const Step& step, const dnnl::engine& engine);
// onednn_elementwise.cpp
absl::StatusOr<PrimitivePlan> planEltwise(const Step& step, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planBinary(const Step& step, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planReduction(const Step& step, const dnnl::engine& engine);
// onednn_recurrent.cpp
absl::StatusOr<PrimitivePlan> planRecurrent(const Step& step, const dnnl::engine& engine);
// onednn_movement.cpp
absl::StatusOr<PrimitivePlan> planReorder(const Step& step, const dnnl::engine& engine);
absl::StatusOr<PrimitivePlan> planConcat(const Step& step, const dnnl::engine& engine);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_KERNELS_H_
