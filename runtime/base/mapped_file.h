// A mapped file is mapped into memory for reading.
#ifndef GRAPHRUN_RUNTIME_BASE_MAPPED_FILE_H_
#define GRAPHRUN_RUNTIME_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphrun::runtime {

/// Status of a failed system call: "cannot <what> '<path>': <text of errnoValue>" with the code
/// that fits (NotFound, PermissionDenied, ResourceExhausted for a full disk or too many open files,
/// DataLoss for a failing one, Unavailable for what lacks or is busy now, else InvalidArgument).
absl::Status fileError(absl::string_view what, absl::string_view path, int errnoValue);

/// A FileChange says what happened to a file since it was mapped.
enum class FileChange {
  kNone,
  kWritten,  // its bytes may be others by now
  kCut,      // it is shorter than what is mapped: touching what is gone ends the process
};

/// A regular file, mapped read-only as a whole; any size. Movable, not copyable; readable by any
/// number of threads. The file must not be truncated in place while it is mapped (replacing it by
/// rename is fine).
class MappedFile {
 public:
  /// Fails with NotFound, PermissionDenied, InvalidArgument for what is not a regular file, or
  /// Unavailable where memory has no room for it (outOfMemory).
  static absl::StatusOr<MappedFile> open(const std::string& path);
  /// As open; the file stays open, which takes a descriptor, so that change() can tell.
  static absl::StatusOr<MappedFile> openWatched(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  /// The content; page-aligned, empty for an empty file.
  absl::Span<const uint8_t> bytes() const { return {data_, size_}; }
  /// Told by size and time of change, of which the system keeps some 250 a second. Of a file that
  /// is not watched always kNone.
  FileChange change() const;
  /// Takes whole pages within `part` of the file out of this process's memory; they come back, out
  /// of the system's cache of the file, when they are read.
  void release(absl::Span<const uint8_t> part) const;

 private:
  static absl::StatusOr<MappedFile> map(const std::string& path, bool isWatched);

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;  // of a watched file
  timespec written_ = {};
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_MAPPED_FILE_H_
