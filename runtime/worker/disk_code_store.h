// A disk code store keeps machine code of generated kernels on disk.
#ifndef GRAPHRUN_RUNTIME_WORKER_DISK_CODE_STORE_H_
#define GRAPHRUN_RUNTIME_WORKER_DISK_CODE_STORE_H_

#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/code_store.h"
#include "runtime/worker/disk_cache.h"

namespace graphrun::runtime {

/// The code of one compiler in a disk cache. What it found stays mapped as long as it lives.
class DiskCodeStore final : public CodeStore {
 public:
  /// `compiler`: its identity. `cache` must outlive this.
  DiskCodeStore(std::string compiler, DiskCache* cache)
      : compiler_(std::move(compiler)), cache_(cache) {}

  std::optional<absl::Span<const uint8_t>> find(const std::string& name) override;
  void store(const std::string& name, absl::Span<const uint8_t> code) override;

 private:
  std::string keyOf(const std::string& name) const;

  const std::string compiler_;
  DiskCache* cache_;
  std::mutex mutex_;
  std::vector<DiskCache::Entry> found_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_DISK_CODE_STORE_H_
