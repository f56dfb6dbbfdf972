// A file that appears whole or not at all.
#ifndef GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_
#define GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphrun::runtime {

/// Writes a temporary file beside `path` and renames it there on `commit`. Until then, and after
/// any error, `path` is what it was; without a commit the destructor removes the temporary file.
/// Movable, not copyable; one thread at a time. Errors name the file and
/// how many bytes had been written.
class AtomicFile {
 public:
  /// Fails with InvalidArgument if `path` exists and is not a regular file, with NotFound or
  /// PermissionDenied if its folder cannot be written.
  static absl::StatusOr<AtomicFile> create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Appends.
  absl::Status write(absl::Span<const uint8_t> bytes);
  absl::Status writeZeros(uint64_t count);
  /// Bytes written so far.
  uint64_t size() const { return size_; }

  /// Syncs the content, renames, syncs the folder. Nothing can be written afterwards.
  absl::Status commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  absl::Status failed(int errnoValue) const;

  std::string path_;
  std::string temporary_;  // empty once renamed
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_
