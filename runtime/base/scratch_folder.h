// A folder for files that nobody needs afterwards.
#ifndef GRAPHRUN_RUNTIME_BASE_SCRATCH_FOLDER_H_
#define GRAPHRUN_RUNTIME_BASE_SCRATCH_FOLDER_H_

#include <filesystem>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

/// A new folder, private to the user, which goes when this goes.
class ScratchFolder {
 public:
  /// In $TMPDIR or, where another is given, in that folder.
  static absl::StatusOr<ScratchFolder> create();
  static absl::StatusOr<ScratchFolder> createIn(const std::filesystem::path& parent);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_SCRATCH_FOLDER_H_
