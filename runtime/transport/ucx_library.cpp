#include "runtime/transport/ucx_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

constexpr const char* kLibrary = "libucp.so.0";

// libucs and libucm take over fatal signals and SIGHUP, and patch mmap, munmap, brk and madvise in
// libc from their constructors, and nothing that can be called later takes the patches out again.
// Only the environment at the time of loading can prevent it. What the user set stays.
class LoadEnvironment {
 public:
  explicit LoadEnvironment(bool memoryEvents) {
    set("UCX_ERROR_SIGNALS", "");
    set("UCX_HANDLE_ERRORS", "none");
    set("UCX_DEBUG_SIGNO", "0");  // else SIGHUP, which then ends nobody
    set("UCX_VFS_ENABLE", "n");
    if (!memoryEvents) {
      set("UCX_MEM_EVENTS", "n");
    }
  }
  ~LoadEnvironment() {
    for (const char* name : added_) {
      unsetenv(name);
    }
  }
  LoadEnvironment(const LoadEnvironment&) = delete;
  LoadEnvironment& operator=(const LoadEnvironment&) = delete;

 private:
  void set(const char* name, const char* value) {
    if (getenv(name) == nullptr) {
      setenv(name, value, 1);
      added_.push_back(name);
    }
  }
  std::vector<const char*> added_;
};

absl::Status load(UcxLibrary& library, bool memoryEvents) {
  LoadEnvironment environment(memoryEvents);
  void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrFormat(
        "loading UCX: %s; install it (Debian: libucx0), or put it on LD_LIBRARY_PATH", dlerror()));
  }
  std::string missing;
  auto find = [&](auto& function, const char* name) {
    void* symbol = dlsym(handle, name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    if (symbol == nullptr) {
      missing += absl::StrCat(missing.empty() ? "" : ", ", name);
    }
  };
#define GR_UCX_FIND(name) find(library.name, #name);
  GR_UCX_FUNCTIONS(GR_UCX_FIND)
#undef GR_UCX_FIND
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s lacks %s; UCX 1.13 or newer is needed", kLibrary, missing));
  }
  const char* chosen = getenv("UCX_MEM_EVENTS");
  library.memoryEvents = memoryEvents || (chosen != nullptr && std::string(chosen) == "y");
  return absl::OkStatus();
}

// Loaded once and never unloaded: UCX does not survive dlclose.
struct Loaded {
  std::once_flag once;
  absl::Status status;
  UcxLibrary library;
};

Loaded& loaded() {
  static Loaded* only = new Loaded;
  return *only;
}

}  // namespace

absl::StatusOr<const UcxLibrary*> loadUcx(bool memoryEvents) {
  Loaded& it = loaded();
  std::call_once(it.once, [&] { it.status = load(it.library, memoryEvents); });
  GR_RETURN_IF_ERROR(it.status);
  if (memoryEvents && !it.library.memoryEvents) {
    return absl::FailedPreconditionError(
        "UCX is already loaded without memory events; ask for them in the first transport");
  }
  return &it.library;
}

const UcxLibrary& ucx() { return loaded().library; }

}  // namespace graphrun::runtime
