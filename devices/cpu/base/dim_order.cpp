#include "devices/cpu/base/dim_order.h"

#include <algorithm>
#include <numeric>

#include "devices/cpu/base/onednn_layouts.h"

namespace graphrun::devices::cpu {

absl::StatusOr<std::vector<size_t>> dimOrder(const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(Blocking blocking, blockingOf(desc));
  std::vector<size_t> order(desc.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (isDense(desc)) {
    return order;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocking.strides[a] > blocking.strides[b]; });
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (!blocking.innerBlocks.empty() || blocking.strides[order[i]] != stride) {
      return absl::UnimplementedError("the tensor has blocks or gaps");
    }
    stride *= desc.dims[order[i]];
  }
  return order;
}

absl::StatusOr<TensorDesc> inDimOrder(const TensorDesc& desc, const std::vector<size_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) {
    return TensorDesc{desc.type, desc.dims};
  }
  std::vector<int64_t> strides(order.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= desc.dims[order[i]];
  }
  return stridedDesc(desc.type, desc.dims, strides);
}

}  // namespace graphrun::devices::cpu
