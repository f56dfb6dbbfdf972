// Tensors that are dense, their dims in any order: dense as such, channels last. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BASE_DIM_ORDER_H_
#define GRAPHRUN_DEVICES_CPU_BASE_DIM_ORDER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

/// Dims by descending stride, such that the tensor is dense in that order; ascending for a dense
/// desc. Unimplemented for a tensor with blocks or gaps.
absl::StatusOr<std::vector<size_t>> dimOrder(const TensorDesc& desc);

/// `desc`'s type and dims, dense in that order; no layout where the order is ascending.
absl::StatusOr<TensorDesc> inDimOrder(const TensorDesc& desc, const std::vector<size_t>& order);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_DIM_ORDER_H_
