#include "runtime/base/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "runtime/base/mapped_file.h"

namespace graphrun::runtime {

absl::StatusOr<MemoryFile> MemoryFile::create(const std::string& name) {
  // The kernel's name for it, seen in /proc alone, has at most 249 bytes.
  const int fd = memfd_create(absl::StrCat("graphrun-", name.substr(0, 200)).c_str(),
                              MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) {
    return fileError("make in memory", name, errno);
  }
  return MemoryFile(name, fd);
}

absl::Status MemoryFile::seal() {
  const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  return fcntl(fd(), F_ADD_SEALS, seals) == 0 ? absl::OkStatus() : fileError("seal", name(), errno);
}

std::string MemoryFile::path() const { return absl::StrCat("/proc/", getpid(), "/fd/", fd()); }

}  // namespace graphrun::runtime
