#include "devices/cpu/runtime/packing.h"

#include <algorithm>
#include <cstring>

#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/winograd_filter.h"
#include "devices/cpu/threading/parallel.h"
#include "devices/executable/quantized_elements.h"

namespace graphrun::devices::cpu {
namespace {

/// Repeats an element of `size` bytes; `to` holds `bytes`.
void fill(const uint8_t* element, size_t size, uint8_t* to, size_t bytes) {
  for (size_t at = 0; at + size <= bytes; at += size) {
    std::memcpy(to + at, element, size);
  }
}

/// A tensor is packed in slices of about so many bytes.
constexpr size_t kSliceBytes = size_t{8} << 20;
/// Slices begin at multiples of this: layouts block dims by divisors of it.
constexpr int64_t kSliceStep = 64;
static_assert(kSliceStep % kPanel == 0);

/// The dim along which slices of a tensor lie one behind the other.
size_t outermostDim(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  size_t outermost = 0;
  int64_t largest = 0;
  for (int i = 0; i < data.ndims; ++i) {
    if (data.dims[i] > 1 && data.format_desc.blocking.strides[i] > largest) {
      outermost = static_cast<size_t>(i);
      largest = data.format_desc.blocking.strides[i];
    }
  }
  return outermost;
}

/// Returns whether a part of `desc` from a multiple of kSliceStep along `dim` is a tensor by
/// itself.
bool hasSlices(const dnnl::memory::desc& desc, size_t dim) {
  const dnnl_blocking_desc_t& blocking = desc.data.format_desc.blocking;
  int64_t block = 1;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    block *= blocking.inner_idxs[i] == static_cast<dnnl_dim_t>(dim) ? blocking.inner_blks[i] : 1;
  }
  return desc.data.extra.flags == 0 && kSliceStep % block == 0;
}

/// One tensor in two layouts.
struct Reorder {
  dnnl::memory::desc from;
  const void* source;
  dnnl::memory::desc to;
  void* target;

  void run(OneDnn& onednn) const {
    dnnl::memory input(from, onednn.engine, const_cast<void*>(source));
    dnnl::memory output(to, onednn.engine, target);
    dnnl::reorder(input, output).execute(onednn.stream, input, output);
    onednn.stream.wait();
  }

  /// Indices [begin, end) of a dim.
  Reorder slice(size_t dim, int64_t begin, int64_t end) const {
    dnnl::memory::dims dims = from.dims();
    dnnl::memory::dims offsets(dims.size(), 0);
    dims[dim] = end - begin;
    offsets[dim] = begin;
    return {from.submemory_desc(dims, offsets), source, to.submemory_desc(dims, offsets), target};
  }
};

/// Calls `taken` before each slice, if there are several: the first may touch all of the target,
/// and all of the source was read to check it.
void runInSlices(const Reorder& whole, OneDnn& onednn, const std::function<void()>& taken) {
  const size_t dim = outermostDim(whole.from);
  const int64_t size = whole.from.dims()[dim];
  const auto rows = static_cast<int64_t>(kSliceBytes * size / (whole.from.get_size() + 1));
  const int64_t step = std::max<int64_t>(rows / kSliceStep, 1) * kSliceStep;
  if (step >= size || !hasSlices(whole.from, dim) || !hasSlices(whole.to, dim)) {
    whole.run(onednn);
    return;
  }
  for (int64_t begin = 0; begin < size; begin += step) {
    taken();
    whole.slice(dim, begin, std::min(begin + step, size)).run(onednn);
  }
}

absl::Status reorder(const TensorDesc& from, const void* source, const TensorDesc& to, void* target,
                     OneDnn& onednn, const std::function<void()>& taken) {
  TensorDesc same = from;
  if (same.layout.empty()) {
    same.dims = to.dims;  // groups as a dim of its own: the same dense bytes
  }
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc fromDesc, memoryDesc(same));
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc toDesc, memoryDesc(to));
  auto done = guarded("packing weights", [&] {
    runInSlices({fromDesc, source, toDesc, target}, onednn, taken);
    return true;
  });
  return done.status();
}

/// `source`, dense f32, as the filter that `to` is, in slices of results.
void transformInSlices(const TensorDesc& to, int64_t tile, const float* source, void* target,
                       const std::function<void()>& taken) {
  const WinogradFilter filter{tile, to.dims[1], to.dims[0]};
  const int64_t row = to.spec().elementCount() / std::max<int64_t>(1, filter.out);
  const auto rows = static_cast<int64_t>(kSliceBytes / sizeof(float)) / (row + 1);
  const int64_t step = std::max<int64_t>(rows / kSliceStep, 1) * kSliceStep;
  for (int64_t begin = 0; begin < filter.out; begin += step) {
    if (step < filter.out) {
      taken();
    }
    transformFilter(filter, begin, std::min(step, filter.out - begin), source + begin * row,
                    static_cast<float*>(target));
  }
}

absl::Status transform(const TensorDesc& from, const void* source, const TensorDesc& to,
                       int64_t tile, void* target, OneDnn& onednn,
                       const std::function<void()>& taken) {
  TensorDesc dense{to.type, to.dims};
  if (sameLayout(from, dense)) {
    transformInSlices(to, tile, static_cast<const float*>(source), target, taken);
    return absl::OkStatus();
  }
  GR_ASSIGN_OR_RETURN(Memory elements, allocateMemory(dense.spec().byteSize()));
  GR_RETURN_IF_ERROR(reorder(from, source, dense, elements.get(), onednn, taken));
  transformInSlices(to, tile, reinterpret_cast<const float*>(elements.get()), target, [] {});
  return absl::OkStatus();
}

absl::Status layOut(const TensorDesc& from, const void* source, const TensorDesc& to, void* target,
                    OneDnn& onednn, const std::function<void()>& taken) {
  std::optional<int64_t> tile = winogradTile(to);
  return tile ? transform(from, source, to, *tile, target, onednn, taken)
              : reorder(from, source, to, target, onednn, taken);
}

/// Returns how the elements that packBuffer gets are laid out.
TensorDesc sourceOf(const Buffer& buffer) {
  return buffer.source.value_or(TensorDesc{buffer.desc.type, buffer.desc.dims, {}});
}

/// Returns whether they are as the buffer's.
bool isPlain(const Buffer& buffer) {
  TensorDesc source = sourceOf(buffer);
  return source.type == buffer.desc.type && source.layout.empty() && isDense(buffer.desc);
}

}  // namespace

bool isPacked(const Buffer& buffer, absl::Span<const uint8_t> given) {
  bool aligned = reinterpret_cast<uintptr_t>(given.data()) % runtime::kTensorAlignment == 0;
  return aligned && !buffer.splat && !buffer.quantized && isPlain(buffer) &&
         given.size() == buffer.bytes;
}

absl::Status packBuffer(const Buffer& buffer, absl::Span<const uint8_t> given, void* to,
                        OneDnn& onednn, const std::function<void()>& taken) {
  std::vector<uint8_t> made;
  given = sourceElements(buffer, given, made);
  TensorDesc source = sourceOf(buffer);
  size_t element = runtime::elementSize(source.type);
  size_t dense = source.spec().byteSize();
  size_t expected = buffer.splat ? element : dense;
  if (given.size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat("a weight has ", given.size(),
                                                   " bytes, expected ", expected, " (",
                                                   source.spec().toString(), ")"));
  }
  GR_ASSIGN_OR_RETURN(uint64_t reach, layoutBytes(source));
  if (reach > dense) {
    return absl::InvalidArgumentError("the view of a weight reaches beyond its bytes");
  }
  bool plain = isPlain(buffer);
  if (buffer.splat && plain) {
    fill(given.data(), element, static_cast<uint8_t*>(to), dense);
    return absl::OkStatus();
  }
  if (plain) {
    std::memcpy(to, given.data(), dense);
    return absl::OkStatus();
  }
  if (!buffer.splat) {
    return layOut(source, given.data(), buffer.desc, to, onednn, taken);
  }
  GR_ASSIGN_OR_RETURN(Memory expanded, allocateMemory(dense));
  fill(given.data(), element, expanded.get(), dense);
  return layOut(source, expanded.get(), buffer.desc, to, onednn, [] {});
}

absl::Status unpackTensor(const TensorDesc& desc, const void* from, void* to, OneDnn& onednn) {
  return reorder(desc, from, {desc.type, desc.dims}, to, onednn, [] {});
}

}  // namespace graphrun::devices::cpu
