#include "runtime/control/socket_directory.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace graphrun::runtime {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "graphrun-";
constexpr size_t kMaxBaseBytes = 60;  // a socket's path has 107, of which names need some

std::string baseDirectory() {
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = getenv(variable);
    if (value != nullptr && value[0] == '/' && strlen(value) <= kMaxBaseBytes &&
        access(value, W_OK | X_OK) == 0) {
      return value;
    }
  }
  return "/tmp";
}

/// True for "graphrun-PID-XXXXXX" of our user where no process PID lives.
bool isAbandoned(const fs::path& path) {
  std::string name = path.filename();
  absl::string_view rest = name;
  pid_t pid = 0;
  std::vector<absl::string_view> parts;
  if (absl::ConsumePrefix(&rest, kPrefix)) {
    parts = absl::StrSplit(rest, '-');
  }
  struct stat info;
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], &pid) && pid > 0 && kill(pid, 0) != 0 &&
         errno == ESRCH && lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid();
}

void removeAbandoned(const std::string& base) {
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (const fs::directory_entry& entry : fs::directory_iterator(base, ignored)) {
    if (isAbandoned(entry.path())) {
      abandoned.push_back(entry.path());
    }
  }
  for (const fs::path& path : abandoned) {
    removeSocketDirectory(path);
  }
}

}  // namespace

absl::StatusOr<std::string> makeSocketDirectory() {
  std::string base = baseDirectory();
  removeAbandoned(base);
  std::string pattern = absl::StrCat(base, "/", kPrefix, getpid(), "-XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a directory for sockets '",
                                                     pattern, "': ", std::strerror(errno)));
  }
  return pattern;
}

void removeSocketDirectory(const std::string& dir) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, ignored)) {
    if (entry.symlink_status(ignored).type() == fs::file_type::socket) {
      unlink(entry.path().c_str());
    }
  }
  rmdir(dir.c_str());
}

}  // namespace graphrun::runtime
