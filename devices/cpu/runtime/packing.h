// Packing brings weights and constants into the layout that kernels expect. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_PACKING_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_PACKING_H_

#include <functional>

#include "absl/types/span.h"
#include "devices/cpu/onednn/onednn_primitive.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

/// Returns whether packBuffer would do no more than copy `given`, and kernels can read that in its
/// place: it has the buffer's layout and kTensorAlignment.
bool isPacked(const Buffer& buffer, absl::Span<const uint8_t> given);

/// Fills `to` (buffer.bytes long) with `given`, the dense elements (one for a splat) of the
/// buffer's source. `taken` is called before each slice of a large tensor: what was read may leave
/// the memory. InvalidArgument when `given` has another size than the source says.
absl::Status packBuffer(
    const Buffer& buffer, absl::Span<const uint8_t> given, void* to, OneDnn& onednn,
    const std::function<void()>& taken = [] {});

/// The elements of a tensor that lies as `desc` says, dense and row-major, into `to`.
absl::Status unpackTensor(const TensorDesc& desc, const void* from, void* to, OneDnn& onednn);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_PACKING_H_
