#include "runtime/base/sibling_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace graphrun::runtime {
namespace {

std::filesystem::path ownFile() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&ownFile), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path() : path;
}

}  // namespace

std::string findSiblingLibrary(const char* library, const char* variable) {
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') {
    return given;
  }
  std::filesystem::path folder = ownFile().parent_path();
  for (const char* relative : {".", "../lib"}) {
    std::error_code error;
    auto candidate = folder / relative / library;
    if (std::filesystem::exists(candidate, error)) {
      return candidate.lexically_normal().string();
    }
  }
  return library;
}

}  // namespace graphrun::runtime
