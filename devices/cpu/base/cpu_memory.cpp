#include "devices/cpu/base/cpu_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/process.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor.h"

namespace graphrun::devices::cpu {
namespace {

size_t pageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

absl::StatusOr<Memory> allocateAligned(size_t bytes, size_t alignment) {
  constexpr size_t kHugePage = size_t{2} << 20;
  // Asked for first: the system would promise it, and fail when it is touched.
  size_t most = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * pageSize();
  if (bytes > most) {
    return runtime::outOfMemory(
        absl::StrCat("cannot allocate ", bytes, " bytes, the machine has ", most));
  }
  alignment = bytes >= kHugePage ? kHugePage : alignment;
  size_t rounded = (bytes / alignment + 1) * alignment;
  Memory memory(static_cast<uint8_t*>(std::aligned_alloc(alignment, rounded)));
  if (memory == nullptr) {
    return runtime::outOfMemory(absl::StrCat("cannot allocate ", bytes, " bytes"));
  }
  // A wish, not a need; what begins the last huge page would take all of it.
  if (size_t whole = bytes / kHugePage * kHugePage; whole > 0) {
    static_cast<void>(madvise(memory.get(), whole, MADV_HUGEPAGE));
  }
  return memory;
}

}  // namespace

absl::StatusOr<Memory> allocateMemory(size_t bytes) {
  return allocateAligned(bytes, runtime::kTensorAlignment);
}

absl::StatusOr<Memory> allocatePages(size_t bytes, absl::Span<uint8_t>& pages) {
  const size_t page = pageSize();
  GR_ASSIGN_OR_RETURN(Memory memory, allocateAligned(bytes, page));
  pages = {memory.get(), (bytes + page - 1) / page * page};
  return memory;
}

void touchMemory(absl::Span<uint8_t> memory) {
  const size_t page = pageSize();
  for (size_t at = 0; at < memory.size(); at += page) {
    memory[at] = 0;
  }
}

}  // namespace graphrun::devices::cpu
