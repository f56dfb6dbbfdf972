// Layouts of tensors on a GPU: dense row-major, or a stride in elements for each dim.
#ifndef GRAPHRUN_DEVICES_CUDA_KERNELS_LAYOUTS_H_
#define GRAPHRUN_DEVICES_CUDA_KERNELS_LAYOUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// Every buffer on a GPU begins at a multiple of so many bytes: cuBLASLt refuses a product whose
/// workspace does not (its documentation, cublasLtMatmul).
inline constexpr uint64_t kBufferAlignment = 256;

/// Returns how far a buffer of `bytes` lies before the next one.
inline uint64_t alignedBytes(uint64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// A tensor whose elements lie that far apart in each dim: channels last, a transposed view.
TensorDesc stridedDesc(runtime::ElementType type, std::vector<int64_t> dims,
                       const std::vector<int64_t>& strides);

/// InvalidArgument for a layout that is not one stride from 0 on for each dim.
absl::StatusOr<std::vector<int64_t>> stridesOf(const TensorDesc& desc);

/// Strides of N x C x spatial dims where the channels of one position lie side by side.
std::vector<int64_t> channelsLastStrides(const std::vector<int64_t>& dims);

/// N x C x spatial dims with the channels last; dense where that is the same, or with fewer dims.
TensorDesc channelsLastDesc(runtime::ElementType type, std::vector<int64_t> dims);

/// True if the tensor lies in memory as with `strides`; those of dims of 1 do not matter.
bool liesAs(const TensorDesc& desc, const std::vector<int64_t>& strides);

/// Bytes from the first to the last element: LayoutBytes of this device. InvalidArgument for
/// malformed dims, types and layouts, and beyond 2^62.
absl::StatusOr<uint64_t> layoutBytes(const TensorDesc& desc);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_KERNELS_LAYOUTS_H_
