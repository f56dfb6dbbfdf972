#include "runtime/session/worker_program.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_split.h"

namespace graphrun::runtime {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "graphrun";

bool runs(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

fs::path folderOfLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&folderOfLibrary), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  return fs::canonical(info.dli_fname, error).parent_path();
}

}  // namespace

std::vector<std::string> findWorkerCommand() {
  std::vector<fs::path> paths;
  if (const char* given = std::getenv("GRAPHRUN_WORKER_PROGRAM"); given && *given) {
    paths.emplace_back(given);
  }
  std::error_code error;
  paths.push_back(fs::read_symlink("/proc/self/exe", error).parent_path() / kProgram);
  paths.push_back(folderOfLibrary() / kProgram);
  paths.push_back(folderOfLibrary() / "../bin" / kProgram);
  if (const char* path = std::getenv("PATH")) {
    for (absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
      paths.push_back(fs::path(std::string(folder)) / kProgram);
    }
  }
  for (const fs::path& path : paths) {
    if (runs(path)) {
      return {path.lexically_normal().string(), "worker"};
    }
  }
  return {};
}

}  // namespace graphrun::runtime
