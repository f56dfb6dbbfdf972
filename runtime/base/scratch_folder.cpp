#include "runtime/base/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "runtime/base/mapped_file.h"

namespace graphrun::runtime {
namespace fs = std::filesystem;

absl::StatusOr<ScratchFolder> ScratchFolder::create() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) {
    return fileError("find the folder for temporary files", parent.string(), error.value());
  }
  return createIn(parent);
}

absl::StatusOr<ScratchFolder> ScratchFolder::createIn(const fs::path& parent) {
  std::string folder = (parent / "graphrun-scratch-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return fileError("make the folder", folder, errno);
  }
  return ScratchFolder(folder);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

}  // namespace graphrun::runtime
