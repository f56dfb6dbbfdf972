#include "devices/cpu/cpu_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/status.h"
#include "runtime/base/tensor.h"

namespace graphrun::devices::cpu {

absl::StatusOr<Memory> allocateMemory(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  // Asked for first: the system would promise it, and fail when it is touched.
  size_t most =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes, the machine has ", most));
  }
  size_t alignment = bytes >= kHugePage ? kHugePage : runtime::kTensorAlignment;
  size_t rounded = (bytes / alignment + 1) * alignment;
  Memory memory(static_cast<uint8_t*>(std::aligned_alloc(alignment, rounded)));
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot allocate ", bytes, " bytes"));
  }
  // A wish, not a need; what begins the last huge page would take all of it.
  if (size_t whole = bytes / kHugePage * kHugePage; whole > 0) {
    static_cast<void>(madvise(memory.get(), whole, MADV_HUGEPAGE));
  }
  return memory;
}

void touchMemory(absl::Span<uint8_t> memory) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t at = 0; at < memory.size(); at += page) {
    memory[at] = 0;
  }
}

}  // namespace graphrun::devices::cpu
