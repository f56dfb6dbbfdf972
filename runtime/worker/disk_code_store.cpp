#include "runtime/worker/disk_code_store.h"

#include <utility>

namespace graphrun::runtime {

std::string DiskCodeStore::keyOf(const std::string& name) const {
  return CacheKey().add(compiler_).add(name).hex();
}

std::optional<absl::Span<const uint8_t>> DiskCodeStore::find(const std::string& name) {
  std::optional<DiskCache::Entry> entry = cache_->find(keyOf(name));
  if (!entry.has_value()) {
    return std::nullopt;
  }
  std::lock_guard lock(mutex_);
  found_.push_back(*std::move(entry));
  return found_.back().bytes;
}

void DiskCodeStore::store(const std::string& name, absl::Span<const uint8_t> code) {
  if (absl::Status stored = cache_->store(keyOf(name), code); !stored.ok()) {
    cache_->warnNotKept("code of a kernel", stored);
  }
}

}  // namespace graphrun::runtime
