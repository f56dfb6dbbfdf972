#include "devices/cuda/driver/pinned_pool.h"

#include <algorithm>
#include <bit>

#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr size_t kLeastBytes = 4096;
constexpr size_t kMostBytes = size_t{1} << 46;  // beyond that no power of two is tried
constexpr size_t kMostKept = size_t{256} << 20;

}  // namespace

PinnedPool::~PinnedPool() {
  ScopedContext scope(*context_);
  for (const auto& [bytes, memory] : kept_) {
    context_->driver().cuMemFreeHost(memory);
  }
}

absl::StatusOr<void*> PinnedPool::allocate(size_t bytes) {
  if (bytes > kMostBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes of page-locked memory"));
  }
  // Large pieces are rare, and half a power of two of them would be a waste.
  size_t size = std::max(kLeastBytes, bytes > kMostKept ? bytes : std::bit_ceil(bytes));
  std::lock_guard lock(mutex_);
  void* memory = nullptr;
  if (auto found = kept_.find(size); found != kept_.end()) {
    memory = found->second;
    kept_.erase(found);
    keptBytes_ -= size;
  } else {
    GR_RETURN_IF_ERROR(this->lock(size, &memory));
  }
  lent_[memory] = size;
  return memory;
}

absl::Status PinnedPool::lock(size_t bytes, void** memory) {
  ScopedContext scope(*context_);
  return runtime::annotate(
      GR_CU(context_->driver(), cuMemHostAlloc, memory, bytes, CU_MEMHOSTALLOC_PORTABLE),
      absl::StrCat("locking ", bytes, " bytes of host memory"));
}

void PinnedPool::deallocate(void* memory) {
  std::lock_guard lock(mutex_);
  auto found = lent_.find(memory);
  if (found == lent_.end()) {
    return;  // null
  }
  size_t size = found->second;
  lent_.erase(found);
  if (keptBytes_ + size <= kMostKept) {
    kept_.emplace(size, memory);
    keptBytes_ += size;
    return;
  }
  ScopedContext scope(*context_);
  context_->driver().cuMemFreeHost(memory);
}

absl::StatusOr<std::shared_ptr<void>> lockPages(const ContextPointer& context,
                                                absl::Span<uint8_t> pages) {
  ScopedContext scope(*context);
  GR_RETURN_IF_ERROR(
      runtime::annotate(GR_CU(context->driver(), cuMemHostRegister_v2, pages.data(), pages.size(),
                              CU_MEMHOSTREGISTER_PORTABLE),
                        absl::StrCat("locking ", pages.size(), " bytes of host memory")));
  return std::shared_ptr<void>(pages.data(), [context](void* memory) {
    ScopedContext scope(*context);
    context->driver().cuMemHostUnregister(memory);
  });
}

}  // namespace graphrun::devices::cuda
