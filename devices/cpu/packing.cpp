#include "devices/cpu/packing.h"

#include <cstring>

#include "devices/cpu/cpu_memory.h"
#include "devices/cpu/onednn_layouts.h"
#include "devices/cpu/parallel.h"

namespace graphrun::devices::cpu {
namespace {

/// Repeats an element of `size` bytes; `to` holds `bytes`.
void fill(const uint8_t* element, size_t size, uint8_t* to, size_t bytes) {
  for (size_t at = 0; at + size <= bytes; at += size) {
    std::memcpy(to + at, element, size);
  }
}

absl::Status reorder(const TensorDesc& from, const void* source, const TensorDesc& to, void* target,
                     OneDnn& onednn) {
  TensorDesc same = from;
  if (same.layout.empty()) {
    same.dims = to.dims;  // groups as a dim of its own: the same dense bytes
  }
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc fromDesc, memoryDesc(same));
  GR_ASSIGN_OR_RETURN(dnnl::memory::desc toDesc, memoryDesc(to));
  auto done = guarded("packing weights", [&] {
    dnnl::memory input(fromDesc, onednn.engine, const_cast<void*>(source));
    dnnl::memory output(toDesc, onednn.engine, target);
    dnnl::reorder(input, output).execute(onednn.stream, input, output);
    onednn.stream.wait();
    return true;
  });
  return done.status();
}

/// How the elements that packBuffer gets are laid out.
TensorDesc sourceOf(const Buffer& buffer) {
  return buffer.source.value_or(TensorDesc{buffer.desc.type, buffer.desc.dims, {}});
}

/// Whether they are as the buffer's.
bool isPlain(const Buffer& buffer) {
  TensorDesc source = sourceOf(buffer);
  return source.type == buffer.desc.type && source.layout.empty() && isDense(buffer.desc);
}

}  // namespace

bool isPacked(const Buffer& buffer, absl::Span<const uint8_t> given) {
  bool aligned = reinterpret_cast<uintptr_t>(given.data()) % runtime::kTensorAlignment == 0;
  return aligned && !buffer.splat && isPlain(buffer) && given.size() == buffer.bytes;
}

absl::Status packBuffer(const Buffer& buffer, absl::Span<const uint8_t> given, void* to,
                        OneDnn& onednn) {
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
    return reorder(source, given.data(), buffer.desc, to, onednn);
  }
  GR_ASSIGN_OR_RETURN(Memory expanded, allocateMemory(dense));
  fill(given.data(), element, expanded.get(), dense);
  return reorder(source, expanded.get(), buffer.desc, to, onednn);
}

absl::Status unpackTensor(const TensorDesc& desc, const void* from, void* to, OneDnn& onednn) {
  return reorder(desc, from, {desc.type, desc.dims}, to, onednn);
}

}  // namespace graphrun::devices::cpu
