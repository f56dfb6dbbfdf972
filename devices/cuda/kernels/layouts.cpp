#include "devices/cuda/kernels/layouts.h"

#include <cstring>

namespace graphrun::devices::cuda {

TensorDesc stridedDesc(runtime::ElementType type, std::vector<int64_t> dims,
                       const std::vector<int64_t>& strides) {
  TensorDesc desc{type, std::move(dims), {}, false};
  const auto* bytes = reinterpret_cast<const uint8_t*>(strides.data());
  desc.layout.assign(bytes, bytes + strides.size() * sizeof(int64_t));
  return desc;
}

absl::StatusOr<std::vector<int64_t>> stridesOf(const TensorDesc& desc) {
  if (desc.layout.empty()) {
    return denseStrides(desc.dims);
  }
  std::vector<int64_t> strides(desc.dims.size());
  if (desc.layout.size() != strides.size() * sizeof(int64_t)) {
    return absl::InvalidArgumentError(absl::StrCat("the layout has ", desc.layout.size(),
                                                   " bytes, expected ",
                                                   strides.size() * sizeof(int64_t)));
  }
  std::memcpy(strides.data(), desc.layout.data(), desc.layout.size());
  for (int64_t stride : strides) {
    if (stride < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the layout has a stride of ", stride));
    }
  }
  return strides;
}

std::vector<int64_t> channelsLastStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t next = dims[1];
  for (size_t d = dims.size(); d > 2; --d) {
    strides[d - 1] = next;
    next *= dims[d - 1];
  }
  strides[0] = next;
  return strides;
}

TensorDesc channelsLastDesc(runtime::ElementType type, std::vector<int64_t> dims) {
  TensorDesc dense{type, std::move(dims), {}, false};
  if (dense.dims.size() < 3) {
    return dense;
  }
  std::vector<int64_t> strides = channelsLastStrides(dense.dims);
  return liesAs(dense, strides) ? dense : stridedDesc(type, std::move(dense.dims), strides);
}

bool liesAs(const TensorDesc& desc, const std::vector<int64_t>& strides) {
  absl::StatusOr<std::vector<int64_t>> its = stridesOf(desc);
  bool same = its.ok() && its->size() == strides.size();
  for (size_t d = 0; same && d < strides.size(); ++d) {
    same = desc.dims[d] == 1 || (*its)[d] == strides[d];
  }
  return same;
}

absl::StatusOr<uint64_t> layoutBytes(const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(size_t dense, runtime::checkedByteSize(desc.type, desc.dims));
  if (desc.layout.empty() || dense == 0) {
    return dense;
  }
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> strides, stridesOf(desc));
  constexpr __int128 kMost = __int128{1} << 62;
  __int128 last = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    last += static_cast<__int128>(desc.dims[d] - 1) * strides[d];
    if (last > kMost) {
      return absl::InvalidArgumentError("the layout is larger than 2^62 elements");
    }
  }
  __int128 bytes = (last + 1) * static_cast<__int128>(runtime::elementSize(desc.type));
  if (bytes > kMost) {
    return absl::InvalidArgumentError("the layout is larger than 2^62 bytes");
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace graphrun::devices::cuda
