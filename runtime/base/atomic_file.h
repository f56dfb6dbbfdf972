// A file that appears whole or not at all.
#ifndef GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_
#define GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphrun::runtime {

/// Writes a temporary file beside the file that `path` names and renames it there on `commit`.
/// Until then, and after any error, that file is what it was; without a commit the destructor
/// removes the temporary file. A symbolic link is followed and stays; a file that exists keeps its
/// mode and, as far as the system lets us, its owner. What cannot be replaced is written as it is:
/// devices, pipes, and what /dev/stdout and /dev/fd/N stand for. Movable, not copyable; one thread
/// at a time. Errors name the file and how many bytes had been written.
class AtomicFile {
 public:
  /// Fails with InvalidArgument if `path` is a folder, with NotFound or PermissionDenied if its
  /// folder, or the file itself, cannot be written.
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

  std::string path_;       // of the file itself, behind all links
  std::string temporary_;  // empty once renamed, and where the file itself is written
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_
