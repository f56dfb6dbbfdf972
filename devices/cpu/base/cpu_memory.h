// A CPU device allocates its memory here.
#ifndef GRAPHRUN_DEVICES_CPU_BASE_CPU_MEMORY_H_
#define GRAPHRUN_DEVICES_CPU_BASE_CPU_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphrun::devices::cpu {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t, FreeMemory>;

/// Uninitialised memory aligned to kTensorAlignment; from 2 MiB on aligned to huge pages, which the
/// kernel is asked for. Never null when OK. Unavailable when the system gives none: what is beyond
/// a device's limit is ResourceExhausted, and another plan may keep to that.
absl::StatusOr<Memory> allocateMemory(size_t bytes);

/// The same in whole pages that nothing else is in; *pages spans them.
absl::StatusOr<Memory> allocatePages(size_t bytes, absl::Span<uint8_t>& pages);

/// Has the system back `memory` now, not when a step first writes there. Its content is lost.
void touchMemory(absl::Span<uint8_t> memory);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_CPU_MEMORY_H_
