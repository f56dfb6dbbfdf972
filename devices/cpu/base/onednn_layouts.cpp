#include "devices/cpu/base/onednn_layouts.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "devices/cpu/base/onednn_memory.h"
#include "devices/cpu/base/winograd_layout.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 60;
/// Rows and columns of the filters that are transformed.
constexpr int kWinogradTaps = 3;

absl::Status malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed layout: ", what));
}

/// Checks what holds for each kind of descriptor: header fields that agree with the desc.
absl::Status checkHeader(const dnnl_memory_desc_t& md, const TensorDesc& desc) {
  auto type = dnnlType(desc.type);
  if (!type || md.data_type != static_cast<dnnl_data_type_t>(*type)) {
    return malformed("its element type is not that of the tensor");
  }
  if (md.ndims < 1 || md.ndims > DNNL_MAX_NDIMS || md.ndims != static_cast<int>(desc.dims.size()) ||
      !std::equal(desc.dims.begin(), desc.dims.end(), md.dims)) {
    return malformed("its dims are not those of the tensor");
  }
  if (md.offset0 != 0 || md.extra.flags != 0) {
    return malformed("it has an offset or extra data");
  }
  return absl::OkStatus();
}

absl::Status checkBlocks(const dnnl_memory_desc_t& md) {
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  if (blocking.inner_nblks < 0 || blocking.inner_nblks > DNNL_MAX_NDIMS) {
    return malformed("number of inner blocks");
  }
  int64_t block[DNNL_MAX_NDIMS];
  std::fill_n(block, DNNL_MAX_NDIMS, 1);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    int64_t dim = blocking.inner_idxs[i];
    if (dim < 0 || dim >= md.ndims || blocking.inner_blks[i] < 1 || blocking.inner_blks[i] > 4096 ||
        block[dim] * blocking.inner_blks[i] > 4096) {
      return malformed("inner block");
    }
    block[dim] *= blocking.inner_blks[i];
  }
  for (int d = 0; d < md.ndims; ++d) {
    if (md.dims[d] < 0 || md.dims[d] > kMaxElements || md.padded_offsets[d] != 0 ||
        md.padded_dims[d] != (md.dims[d] + block[d] - 1) / block[d] * block[d] ||
        blocking.strides[d] < 0) {
      return malformed(absl::StrCat("dim ", d));
    }
  }
  return absl::OkStatus();
}

/// The one descriptor that winogradDesc makes for the tile that `md` says.
absl::Status checkWinograd(const dnnl_memory_desc_t& md, const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(TensorDesc whole,
                      winogradDesc(desc.dims, md.format_desc.wino_desc.alpha - kWinogradTaps + 1));
  return desc.layout == whole.layout ? absl::OkStatus() : malformed("transformed filter");
}

/// The descriptor in `desc.layout`, its header checked. The bytes may lie at any alignment.
absl::StatusOr<dnnl_memory_desc_t> parse(const TensorDesc& desc) {
  dnnl_memory_desc_t md;
  if (desc.layout.size() != sizeof(md)) {
    return malformed(absl::StrCat(desc.layout.size(), " bytes, expected ", sizeof(md)));
  }
  // Enums of the library are ints in memory: look before they become enums.
  std::memcpy(static_cast<void*>(&md), desc.layout.data(), sizeof(md));
  int kind;
  int type;
  std::memcpy(&kind, &md.format_kind, sizeof(kind));
  std::memcpy(&type, &md.data_type, sizeof(type));
  if ((kind != dnnl_blocked && kind != dnnl_format_kind_wino) || type < dnnl_f16 ||
      type > dnnl_u8) {
    return malformed("kind or type");
  }
  GR_RETURN_IF_ERROR(checkHeader(md, desc));
  GR_RETURN_IF_ERROR(md.format_kind == dnnl_blocked ? checkBlocks(md) : checkWinograd(md, desc));
  return md;
}

Blocking blockingFrom(const dnnl_memory_desc_t& md) {
  const dnnl_blocking_desc_t& from = md.format_desc.blocking;
  Blocking to;
  to.dims.assign(md.dims, md.dims + md.ndims);
  to.paddedDims.assign(md.padded_dims, md.padded_dims + md.ndims);
  to.strides.assign(from.strides, from.strides + md.ndims);
  to.innerBlocks.assign(from.inner_blks, from.inner_blks + from.inner_nblks);
  to.innerDims.assign(from.inner_idxs, from.inner_idxs + from.inner_nblks);
  return to;
}

/// Extent in elements, or an error when it is beyond all memory.
absl::StatusOr<int64_t> checkedExtent(const Blocking& blocking) {
  __int128 last = 0;
  for (size_t d = 0; d < blocking.dims.size(); ++d) {
    if (blocking.dims[d] == 0) {
      return 0;
    }
    int64_t blocks = blocking.paddedDims[d] / blocking.blockOf(static_cast<int>(d));
    last += static_cast<__int128>(blocks - 1) * blocking.strides[d];
  }
  __int128 inner = 1;
  for (int64_t block : blocking.innerBlocks) {
    inner *= block;
  }
  if (last + inner > kMaxElements) {
    return malformed("larger than 2^60 elements");
  }
  return static_cast<int64_t>(last + inner);
}

absl::StatusOr<Blocking> denseBlocking(const TensorDesc& desc) {
  GR_RETURN_IF_ERROR(runtime::checkedByteSize(desc.type, desc.dims).status());
  return Blocking{desc.dims, desc.dims, denseStrides(desc.dims), {}, {}};
}

}  // namespace

int64_t Blocking::blockOf(int dim) const {
  int64_t block = 1;
  for (size_t i = 0; i < innerBlocks.size(); ++i) {
    block *= innerDims[i] == dim ? innerBlocks[i] : 1;
  }
  return block;
}

int64_t Blocking::extent() const { return checkedExtent(*this).value_or(0); }

std::optional<dnnl::memory::data_type> dnnlType(runtime::ElementType type) {
  using Type = dnnl::memory::data_type;
  switch (type) {
    case runtime::ElementType::kF32:
      return Type::f32;
    case runtime::ElementType::kF16:
      return Type::f16;
    case runtime::ElementType::kBF16:
      return Type::bf16;
    case runtime::ElementType::kI32:
      return Type::s32;
    case runtime::ElementType::kI8:
      return Type::s8;
    case runtime::ElementType::kU8:
      return Type::u8;
    default:
      return std::nullopt;
  }
}

bool hasLayoutType(runtime::ElementType type) { return dnnlType(type).has_value(); }

absl::StatusOr<dnnl::memory::desc> stridedMemory(runtime::ElementType type,
                                                 const std::vector<int64_t>& dims,
                                                 const std::vector<int64_t>& strides) {
  auto dataType = dnnlType(type);
  if (!dataType || dims.empty() || dims.size() > DNNL_MAX_NDIMS || dims.size() != strides.size()) {
    return absl::UnimplementedError(absl::StrCat("oneDNN has no tensor of rank ", dims.size(),
                                                 " and type ", runtime::elementTypeName(type)));
  }
  return guarded("memory descriptor", [&] { return dnnl::memory::desc(dims, *dataType, strides); });
}

absl::StatusOr<dnnl::memory::desc> memoryDesc(const TensorDesc& desc) {
  if (!desc.layout.empty()) {
    GR_ASSIGN_OR_RETURN(dnnl_memory_desc_t md, parse(desc));
    if (md.format_kind != dnnl_blocked) {
      return absl::UnimplementedError("oneDNN does not read transformed filters");
    }
    return dnnl::memory::desc(md);
  }
  if (desc.dims.empty()) {
    return stridedMemory(desc.type, {1}, {1});
  }
  return stridedMemory(desc.type, desc.dims, denseStrides(desc.dims));
}

TensorDesc layoutDesc(const dnnl::memory::desc& desc, runtime::ElementType type) {
  const dnnl_memory_desc_t& md = desc.data;
  TensorDesc result{type, std::vector<int64_t>(md.dims, md.dims + md.ndims), {}, false};
  const auto* bytes = reinterpret_cast<const uint8_t*>(&md);
  result.layout.assign(bytes, bytes + sizeof(md));
  return result;
}

TensorDesc plainDesc(const dnnl::memory::desc& desc, runtime::ElementType type) {
  const dnnl_memory_desc_t& md = desc.data;
  TensorDesc result = layoutDesc(desc, type);
  if (md.format_kind == dnnl_blocked && md.format_desc.blocking.inner_nblks == 0 &&
      blockingFrom(md).strides == denseStrides(result.dims)) {
    result.layout.clear();
  }
  return result;
}

absl::StatusOr<Blocking> blockingOf(const TensorDesc& desc) {
  if (desc.layout.empty()) {
    return denseBlocking(desc);
  }
  GR_ASSIGN_OR_RETURN(dnnl_memory_desc_t md, parse(desc));
  if (md.format_kind != dnnl_blocked) {
    return absl::InvalidArgumentError("the layout is opaque: it holds no elements of the tensor");
  }
  return blockingFrom(md);
}

absl::StatusOr<uint64_t> layoutBytes(const TensorDesc& desc) {
  if (desc.layout.empty()) {
    return runtime::checkedByteSize(desc.type, desc.dims);
  }
  if (isOpaque(desc)) {
    GR_ASSIGN_OR_RETURN(dnnl_memory_desc_t md, parse(desc));
    return static_cast<uint64_t>(md.format_desc.wino_desc.size);
  }
  GR_ASSIGN_OR_RETURN(Blocking blocking, blockingOf(desc));
  GR_ASSIGN_OR_RETURN(int64_t extent, checkedExtent(blocking));
  // The library may count the last block whole where the strides leave gaps.
  uint64_t counted = 0;
  for (size_t d = 0; d < blocking.dims.size() && extent > 0; ++d) {
    int64_t blocks = blocking.paddedDims[d] / blocking.blockOf(static_cast<int>(d));
    __int128 span = static_cast<__int128>(blocks) * blocking.strides[d];
    if (span > kMaxElements) {
      return malformed("larger than 2^60 elements");
    }
    counted = std::max(counted, static_cast<uint64_t>(span));
  }
  return std::max(counted, static_cast<uint64_t>(extent)) * runtime::elementSize(desc.type);
}

bool isOpaque(const TensorDesc& desc) {
  auto md = desc.layout.empty() ? absl::StatusOr<dnnl_memory_desc_t>(absl::NotFoundError(""))
                                : parse(desc);
  return md.ok() && md->format_kind != dnnl_blocked;
}

bool isDense(const TensorDesc& desc) {
  if (desc.layout.empty()) {
    return true;
  }
  auto blocking = blockingOf(desc);
  if (!blocking.ok() || !blocking->innerBlocks.empty()) {
    return false;
  }
  std::vector<int64_t> dense = denseStrides(desc.dims);
  for (size_t d = 0; d < dense.size(); ++d) {
    if (desc.dims[d] > 1 && blocking->strides[d] != dense[d]) {
      return false;
    }
  }
  return true;
}

bool sameLayout(const TensorDesc& a, const TensorDesc& b) {
  if (a.type != b.type || a.dims != b.dims) {
    return false;
  }
  if (a.layout == b.layout || (isDense(a) && isDense(b))) {
    return true;
  }
  if (isOpaque(a) || isOpaque(b)) {
    return false;
  }
  auto first = blockingOf(a);
  auto second = blockingOf(b);
  if (!first.ok() || !second.ok()) {
    return false;
  }
  for (size_t d = 0; d < a.dims.size(); ++d) {
    // One block only: its stride is never used.
    if (first->paddedDims[d] == first->blockOf(static_cast<int>(d)) &&
        second->paddedDims[d] == second->blockOf(static_cast<int>(d))) {
      first->strides[d] = second->strides[d];
    }
  }
  return *first == *second;
}

std::string layoutName(const TensorDesc& desc) {
  if (desc.layout.empty()) {
    return "dense";
  }
  auto blocking = blockingOf(desc);
  if (!blocking.ok()) {
    std::optional<int64_t> tile = winogradTile(desc);
    return tile ? absl::StrCat("winograd_", *tile, "x", *tile) : "malformed";
  }
  std::vector<int> order(desc.dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return blocking->strides[a] > blocking->strides[b]; });
  std::string name;
  for (int dim : order) {
    name += static_cast<char>((blocking->blockOf(dim) > 1 ? 'A' : 'a') + dim);
  }
  for (size_t i = 0; i < blocking->innerBlocks.size(); ++i) {
    absl::StrAppend(&name, blocking->innerBlocks[i]);
    name += static_cast<char>('a' + blocking->innerDims[i]);
  }
  return name;
}

absl::StatusOr<TensorDesc> stridedDesc(runtime::ElementType type, const std::vector<int64_t>& dims,
                                       const std::vector<int64_t>& strides) {
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc md, stridedMemory(type, dims, strides));
  return plainDesc(md, type);
}

absl::StatusOr<TensorDesc> movedLastDesc(runtime::ElementType type,
                                         const std::vector<int64_t>& dims, size_t position) {
  std::vector<int64_t> stored(dims.begin(), dims.end() - 1);
  auto at = static_cast<std::ptrdiff_t>(position);
  stored.insert(stored.begin() + at, dims.back());
  std::vector<int64_t> strides = denseStrides(stored);
  std::rotate(strides.begin() + at, strides.begin() + at + 1, strides.end());
  return stridedDesc(type, dims, strides);
}

absl::StatusOr<TensorDesc> blockedDesc(runtime::ElementType type, const Blocking& blocking) {
  size_t rank = blocking.dims.size();
  if (blocking.innerBlocks.size() > DNNL_MAX_NDIMS || blocking.strides.size() != rank ||
      blocking.innerDims.size() != blocking.innerBlocks.size() ||
      blocking.paddedDims.size() != rank) {
    return malformed("sizes of its parts");
  }
  // Starts dense: the library takes the strides of blocks for overlapping elements.
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc md,
                      stridedMemory(type, blocking.dims, denseStrides(blocking.dims)));
  dnnl_blocking_desc_t& inner = md.data.format_desc.blocking;
  std::copy(blocking.strides.begin(), blocking.strides.end(), inner.strides);
  inner.inner_nblks = static_cast<int>(blocking.innerBlocks.size());
  std::copy(blocking.innerBlocks.begin(), blocking.innerBlocks.end(), inner.inner_blks);
  std::copy(blocking.innerDims.begin(), blocking.innerDims.end(), inner.inner_idxs);
  std::copy(blocking.paddedDims.begin(), blocking.paddedDims.end(), md.data.padded_dims);
  TensorDesc desc = plainDesc(md, type);
  GR_RETURN_IF_ERROR(blockingOf(desc).status());
  return desc;
}

absl::StatusOr<TensorDesc> winogradDesc(const std::vector<int64_t>& dims, int64_t tile) {
  constexpr int64_t kMostChannels = int64_t{1} << 24;
  bool fits = dims.size() == 4 && dims[2] == kWinogradTaps && dims[3] == kWinogradTaps &&
              std::min(dims[0], dims[1]) > 0 && std::max(dims[0], dims[1]) <= kMostChannels;
  if (!fits || (tile != 2 && tile != 4)) {
    return absl::InvalidArgumentError("the filter is none that is transformed");
  }
  GR_RETURN_IF_ERROR(runtime::checkedByteSize(runtime::ElementType::kF32, dims).status());
  // In oneDNN's form for such a filter, so that each layout is a descriptor of the library.
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc md,
                      stridedMemory(runtime::ElementType::kF32, dims, denseStrides(dims)));
  WinogradFilter filter{tile, dims[1], dims[0]};
  md.data.format_kind = dnnl_format_kind_wino;
  std::memset(&md.data.format_desc, 0, sizeof(md.data.format_desc));
  dnnl_wino_desc_t& wino = md.data.format_desc.wino_desc;
  wino.r = kWinogradTaps;
  wino.alpha = static_cast<int>(tile) + kWinogradTaps - 1;
  wino.ic = static_cast<int>(filter.in);
  wino.oc = static_cast<int>(filter.out);
  wino.oc_block = static_cast<int>(kPanel);
  wino.size = static_cast<size_t>(filter.floats()) * sizeof(float);
  return layoutDesc(md, runtime::ElementType::kF32);
}

std::optional<int64_t> winogradTile(const TensorDesc& desc) {
  if (!isOpaque(desc)) {
    return std::nullopt;
  }
  return parse(desc)->format_desc.wino_desc.alpha - kWinogradTaps + 1;
}

uint64_t winogradBytes(const TensorDesc& desc) {
  WinogradFilter filter{winogradTile(desc).value_or(0), desc.dims[1], desc.dims[0]};
  return static_cast<uint64_t>(filter.transformedFloats()) * sizeof(float);
}

std::vector<int64_t> channelsLastStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t stride = dims[1];
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[0] = stride;
  return strides;
}

ScopedThreads::ScopedThreads(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
ScopedThreads::~ScopedThreads() { omp_set_num_threads(before_); }

}  // namespace graphrun::devices::cpu
