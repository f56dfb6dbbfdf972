#include "frontends/cli/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphrun::cli {
namespace fs = std::filesystem;

absl::StatusOr<ScratchFolder> ScratchFolder::create() {
  std::string folder = (fs::temp_directory_path() / "graphrun-scratch-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", folder));
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

}  // namespace graphrun::cli
