#include "devices/cpu/compiler/concat_parts.h"

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"

namespace graphrun::devices::cpu {
namespace {

/// True when `axis` is the slowest dim in memory of those that have more than one element.
bool isOutermost(const std::vector<int64_t>& dims, KernelLayout layout, size_t axis) {
  auto isOne = [&](size_t dim) { return dims[dim] == 1; };
  if (layout.order == KernelLayout::Order::kChannelsLast && axis == 1) {
    return isOne(0) && std::all_of(dims.begin() + 2, dims.end(), [](int64_t d) { return d == 1; });
  }
  if (layout.order == KernelLayout::Order::kChannelBlocks && axis != 1) {
    return false;
  }
  for (size_t dim = 0; dim < axis; ++dim) {
    bool behind = layout.order == KernelLayout::Order::kChannelsLast && dim == 1;
    if (!behind && !isOne(dim)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<uint64_t> concatParts(const std::vector<TensorDesc>& operands, const TensorDesc& result,
                                  KernelLayout layout, size_t axis) {
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
  for (const TensorDesc& operand : operands) {
    bool whole = layout.block == 0 || operand.dims[axis] % layout.block == 0;
    absl::StatusOr<uint64_t> bytes = layoutBytes(operand);
    if (!whole || !bytes.ok() || end % runtime::kTensorAlignment != 0) {
      return {};
    }
    offsets.push_back(end);
    end += *bytes;
  }
  absl::StatusOr<uint64_t> bytes = layoutBytes(result);
  bool fits = bytes.ok() && *bytes == end && isOutermost(result.dims, layout, axis);
  return fits ? offsets : std::vector<uint64_t>();
}

}  // namespace graphrun::devices::cpu
