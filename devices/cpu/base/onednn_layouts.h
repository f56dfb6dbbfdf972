// Layouts of tensors as plain data: what the compiler may ask about a layout without oneDNN's
// headers. Which layout a kernel wants is told by KernelEntry::choose (kernel.h).
#ifndef GRAPHRUN_DEVICES_CPU_BASE_ONEDNN_LAYOUTS_H_
#define GRAPHRUN_DEVICES_CPU_BASE_ONEDNN_LAYOUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

/// The structure of a strided or blocked tensor. Element (i0, i1 …) lies at
/// sum over d of (i_d / block of d) * strides[d], plus its position in the inner block, where the
/// inner blocks are dense, the last one fastest. As a physical dense tensor: the outer dims
/// paddedDims[d] / block of d, by descending stride, then innerBlocks.
struct Blocking {
  std::vector<int64_t> dims;
  std::vector<int64_t> paddedDims;   ///< dims rounded up to whole blocks
  std::vector<int64_t> strides;      ///< elements between two outer blocks of a dim
  std::vector<int64_t> innerBlocks;  ///< sizes, slowest first
  std::vector<int> innerDims;        ///< the dim that each inner block is of

  bool operator==(const Blocking&) const = default;
  /// Product of the inner blocks of `dim`: 1 when it is not blocked.
  int64_t blockOf(int dim) const;
  /// Elements from the first to the last one, padding included; 0 for an empty tensor.
  int64_t extent() const;
};

/// Blocking of `desc`; InvalidArgument for a malformed layout, and for an opaque one.
absl::StatusOr<Blocking> blockingOf(const TensorDesc& desc);

/// Bytes that a tensor of `desc` occupies. InvalidArgument for malformed dims, types and layouts.
absl::StatusOr<uint64_t> layoutBytes(const TensorDesc& desc);

/// True when the elements lie as in a dense row-major tensor (a dim of 1 may have any stride).
bool isDense(const TensorDesc& desc);

/// True for a layout that holds no elements of the tensor: that of winogradDesc.
bool isOpaque(const TensorDesc& desc);

/// True when the two tensors lie alike in memory, element for element.
bool sameLayout(const TensorDesc& a, const TensorDesc& b);

/// Name in oneDNN's notation: letters by descending stride, upper case when blocked, then the inner
/// blocks: "abcd", "aBcd16b"; "dense" where the desc has no layout, "winograd_4x4".
std::string layoutName(const TensorDesc& desc);

/// A tensor with the given strides in elements: a permuted or transposed view. At most 12 dims, of
/// a type that oneDNN has.
absl::StatusOr<TensorDesc> stridedDesc(runtime::ElementType type, const std::vector<int64_t>& dims,
                                       const std::vector<int64_t>& strides);

/// A dense tensor with one of its dims put last: in memory the last one of `dims` lies before dim
/// `position` of the others. So a filter's source is told in the order in which it is packed.
absl::StatusOr<TensorDesc> movedLastDesc(runtime::ElementType type,
                                         const std::vector<int64_t>& dims, size_t position);

/// A tensor with that blocking: for layouts that the compiler derives (a slice, a concatenation).
absl::StatusOr<TensorDesc> blockedDesc(runtime::ElementType type, const Blocking& blocking);

/// An f32 filter of `dims`, O x I x 3 x 3, transformed as winograd_layout.h says for results of
/// tile x tile, 2 or 4. InvalidArgument for other dims and tiles.
absl::StatusOr<TensorDesc> winogradDesc(const std::vector<int64_t>& dims, int64_t tile);

/// The tile of such a layout; nothing for others.
std::optional<int64_t> winogradTile(const TensorDesc& desc);
/// Bytes of such a filter that a convolution reads where it sums no tile directly.
uint64_t winogradBytes(const TensorDesc& desc);

/// True for the element types that oneDNN's descriptors can hold (not 64-bit ones, 16-bit integers
/// or bool).
bool hasLayoutType(runtime::ElementType type);

/// Strides of N x D1 x … x C in memory for the dims N x C x D1 ….
std::vector<int64_t> channelsLastStrides(const std::vector<int64_t>& dims);

/// While it lives, oneDNN and OpenMP use `threads` threads on the calling thread. What primitives
/// choose depends on it, so compiling and loading both do it.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ~ScopedThreads();
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int before_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_ONEDNN_LAYOUTS_H_
