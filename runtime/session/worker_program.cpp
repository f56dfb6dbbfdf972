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
  std::vector<fs::path> places;
  if (const char* given = std::getenv("GRAPHRUN_WORKER_PROGRAM"); given && *given) {
    places.emplace_back(given);
  }
  std::error_code error;
  places.push_back(fs::read_symlink("/proc/self/exe", error).parent_path() / kProgram);
  places.push_back(folderOfLibrary() / kProgram);
  places.push_back(folderOfLibrary() / "../bin" / kProgram);
  if (const char* path = std::getenv("PATH")) {
    for (absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
      places.push_back(fs::path(std::string(folder)) / kProgram);
    }
  }
  for (const fs::path& place : places) {
    if (runs(place)) {
      return {place.lexically_normal().string(), "worker"};
    }
  }
  return {};
}

}  // namespace graphrun::runtime
