// A folder for files that nobody needs afterwards.
#ifndef GRAPHRUN_FRONTENDS_CLI_SCRATCH_FOLDER_H_
#define GRAPHRUN_FRONTENDS_CLI_SCRATCH_FOLDER_H_

#include <filesystem>

#include "absl/status/statusor.h"

namespace graphrun::cli {

/// A new folder in $TMPDIR, which goes when this goes.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_SCRATCH_FOLDER_H_
