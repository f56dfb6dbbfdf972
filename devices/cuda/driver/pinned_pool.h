// Host memory that a GPU copies from and to at full speed. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_PINNED_POOL_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_PINNED_POOL_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/cuda/driver/context.h"

namespace graphrun::devices::cuda {

/// Page-locked host memory. To lock pages takes the system long, so what is given back is kept, up
/// to a limit, in powers of two. Everything must be back before it goes. Thread-safe.
class PinnedPool {
 public:
  explicit PinnedPool(ContextPointer context) : context_(std::move(context)) {}
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// Aligned to a page, not cleared. ResourceExhausted when the system locks no more.
  absl::StatusOr<void*> allocate(size_t bytes);
  /// Null does nothing.
  void deallocate(void* memory);

 private:
  absl::Status lock(size_t bytes, void** memory);

  ContextPointer context_;
  std::mutex mutex_;
  std::unordered_map<void*, size_t> lent_;  ///< with their sizes
  std::multimap<size_t, void*> kept_;       ///< by size
  size_t keptBytes_ = 0;
};

/// Locks whole pages of the host's memory, for all GPUs, until what it gives goes.
absl::StatusOr<std::shared_ptr<void>> lockPages(const ContextPointer& context,
                                                absl::Span<uint8_t> pages);

/// Gives memory back to its pool.
struct GiveBack {
  std::shared_ptr<PinnedPool> pool;
  void operator()(void* memory) const { pool->deallocate(memory); }
};
using PinnedMemory = std::unique_ptr<void, GiveBack>;

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_PINNED_POOL_H_
