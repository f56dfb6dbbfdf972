// Plain descriptions are translated to oneDNN's and back, and its exceptions to statuses. Internal
// to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BASE_ONEDNN_MEMORY_H_
#define GRAPHRUN_DEVICES_CPU_BASE_ONEDNN_MEMORY_H_

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "devices/cpu/vectors/instructions.h"
#include "devices/executable/executable.h"
#include "runtime/base/process.h"

namespace graphrun::devices::cpu {

/// oneDNN's data type, or nothing for a type that it does not have.
std::optional<dnnl::memory::data_type> dnnlType(runtime::ElementType type);

/// The descriptor that `desc.layout` holds, checked; for a dense `desc`, row-major strides. A
/// scalar becomes one dim of 1.
absl::StatusOr<dnnl::memory::desc> memoryDesc(const TensorDesc& desc);

/// A plain strided descriptor.
absl::StatusOr<dnnl::memory::desc> stridedMemory(runtime::ElementType type,
                                                 const std::vector<int64_t>& dims,
                                                 const std::vector<int64_t>& strides);

/// The plain form, always with a layout.
TensorDesc layoutDesc(const dnnl::memory::desc& desc, runtime::ElementType type);

/// The plain form: no layout where the strides are row-major.
TensorDesc plainDesc(const dnnl::memory::desc& desc, runtime::ElementType type);

/// Runs `function`, which calls oneDNN, and turns its exceptions into a status about `what`.
/// Unimplemented (the library declines) is told from InvalidArgument and Internal. The library is
/// used under the limit of its instructions from the first call on.
template <typename Function>
auto guarded(absl::string_view what, Function function) -> absl::StatusOr<decltype(function())> {
  static_cast<void>(instructionLimit());
  try {
    return function();
  } catch (const dnnl::error& error) {
    std::string message = absl::StrCat(what, ": oneDNN says: ", error.what());
    switch (error.status) {
      case dnnl_unimplemented:
        return absl::UnimplementedError(message);
      case dnnl_out_of_memory:
        return runtime::outOfMemory(message);
      case dnnl_invalid_arguments:
        return absl::InvalidArgumentError(message);
      default:
        return absl::InternalError(message);
    }
  } catch (const std::bad_alloc&) {
    return runtime::outOfMemory(what);
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_ONEDNN_MEMORY_H_
