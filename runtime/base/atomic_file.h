// An atomic file appears whole or not at all.
#ifndef GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_
#define GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/file_writer.h"

namespace graphrun::runtime {

/// Writes a temporary file beside the file that `path` names and renames it there on `commit`.
/// Until then, and after any error, that file is what it was; without a commit the destructor
/// removes the temporary file. A symbolic link is followed and stays; a file that exists keeps its
/// mode and, as far as the system lets us, its owner. What cannot be replaced is written as it is:
/// devices, pipes, and what /dev/stdout and /dev/fd/N stand for.
class AtomicFile : public FileWriter {
 public:
  /// Fails with InvalidArgument if `path` is a folder, with NotFound or PermissionDenied if its
  /// folder, or the file itself, cannot be written.
  static absl::StatusOr<AtomicFile> create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Syncs the content, renames, syncs the folder. Nothing can be written afterwards.
  absl::Status commit();

 private:
  /// `path` is that of the file itself, behind all links.
  AtomicFile(std::string path, std::string temporary, int fd);

  std::string temporary_;  // empty once renamed, and where the file itself is written
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_ATOMIC_FILE_H_
