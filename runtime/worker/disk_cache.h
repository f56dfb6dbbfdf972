// The disk cache keeps what need not be made twice: executables, plans, imported models, weights.
#ifndef GRAPHRUN_RUNTIME_WORKER_DISK_CACHE_H_
#define GRAPHRUN_RUNTIME_WORKER_DISK_CACHE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/mapped_file.h"

struct XXH3_state_s;

namespace graphrun::runtime {

/// $GRAPHRUN_CACHE_DIR, else $XDG_CACHE_HOME/graphrun, else ~/.cache/graphrun, else a folder of the
/// user under the system's temporary one.
std::string defaultCacheDirectory();

/// Makes the name of an entry from all that its content depends on: 128 bits of XXH3, in
/// hexadecimal.
class CacheKey {
 public:
  CacheKey();
  ~CacheKey();
  CacheKey(const CacheKey&) = delete;
  CacheKey& operator=(const CacheKey&) = delete;

  /// Adds a part; parts are kept apart by their length.
  CacheKey& add(absl::Span<const uint8_t> bytes);
  CacheKey& add(absl::string_view text);
  CacheKey& add(uint64_t number);
  std::string hex() const;

 private:
  struct FreeState {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, FreeState> state_;
};

/// A folder of files of bounded total size; the least recently used go first. Entries appear whole
/// or not at all, carry a checksum, and may be shared by processes: a file that goes while it is
/// mapped stays readable. A cache that cannot be written, or a damaged entry, costs a warning and
/// time, but is no error. What others than the user or root may have written, in the folder or in
/// the one around it, is not read: entries are code. Thread-safe.
class DiskCache {
 public:
  /// An entry's content, mapped; aligned to 64.
  struct Entry {
    MappedFile file;
    absl::Span<const uint8_t> bytes;
    uint64_t checksum = 0;  // that the content is to have, XXH3-64
  };

  /// Writes an entry piece by piece.
  class Writer {
   public:
    Writer(Writer&& other) noexcept;
    Writer& operator=(Writer&&) = delete;
    ~Writer();
    absl::Status write(absl::Span<const uint8_t> bytes);
    /// Makes the entry appear. DataLoss unless all of it was written.
    absl::Status commit();

   private:
    friend class DiskCache;
    Writer(DiskCache* cache, std::string path, uint64_t bytes);
    DiskCache* cache_;
    std::string path_;
    std::string temporary_;  // empty once renamed
    uint64_t bytes_;
    uint64_t left_;
    int fd_ = -1;
  };

  /// `folder` is made, private to the user, when something is written.
  DiskCache(std::string folder, uint64_t limitBytes);

  /// The entry of `key` if it is there and whole; a damaged one is removed with a warning.
  std::optional<Entry> find(const std::string& key);
  /// As find, but the content, which may be long, is not read: check() does that.
  std::optional<Entry> open(const std::string& key);
  /// Returns whether the content of an open entry is what was written; else it is removed with a
  /// warning.
  bool check(const std::string& key, const Entry& entry);
  /// Returns whether there is an entry, whose content is not checked.
  bool has(const std::string& key);
  absl::Status store(const std::string& key, absl::Span<const uint8_t> bytes);
  /// Begins an entry of `bytes` with the XXH3-64 `checksum`.
  absl::StatusOr<Writer> begin(const std::string& key, uint64_t bytes, uint64_t checksum);
  void remove(const std::string& key);

  /// Returns where the file of `key` is or would be; makes the folder. For files that others write
  /// and check (model.fb): call added() after writing one and used() after reading one.
  absl::StatusOr<std::string> pathOf(const std::string& key);
  void used(const std::string& key);
  void added(const std::string& key) { trim(fileOf(key)); }
  /// Warns that `what` is not kept, and why. Once for all caches in one folder: where one thing
  /// cannot be kept, others cannot either.
  void warnNotKept(absl::string_view what, const absl::Status& why) const;
  const std::string& folder() const { return folder_; }

 private:
  /// PermissionDenied where others may have written what is in the folder.
  absl::Status checkSafe();
  absl::Status makeFolder();
  /// As trim, but looks through the folder only now and then: after some entries, or a sixteenth of
  /// the limit.
  void trimAfter(uint64_t bytes, const std::string& keep);
  void trim(const std::string& keep);
  void removeDamaged(const std::string& key);
  std::string fileOf(const std::string& key) const;

  const std::string folder_;
  const uint64_t limitBytes_;
  std::once_flag checked_;
  absl::Status safe_;
  std::mutex mutex_;
  std::optional<uint64_t> addedBytes_;  // since the last look through the folder; none: never
  size_t addedEntries_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_DISK_CACHE_H_
