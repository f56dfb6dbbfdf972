#include "runtime/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

// write(2) takes at most about 2 GiB at once.
constexpr size_t kChunk = size_t{1} << 30;

std::string folderOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporaryName(const std::string& path) {
  static std::atomic<uint32_t> counter{0};
  return absl::StrCat(path, ".tmp-", ::getpid(), "-", counter.fetch_add(1));
}

absl::Status syncFolder(const std::string& path) {
  std::string folder = folderOf(path);
  int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return fileError("sync folder", folder, errno);
  }
  int failed = ::fsync(fd);
  int error = errno;
  ::close(fd);
  // Some file systems do not sync folders and say so with EINVAL.
  return failed != 0 && error != EINVAL ? fileError("sync folder", folder, error)
                                        : absl::OkStatus();
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::create(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write '", path, "': it exists and is not a regular file"));
  }
  std::string temporary = temporaryName(path);
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) {
    return fileError("write", path, errno);
  }
  return AtomicFile(path, std::move(temporary), fd);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

absl::Status AtomicFile::failed(int errnoValue) const {
  return annotate(fileError("write", path_, errnoValue), absl::StrCat("after ", size_, " bytes"));
}

absl::Status AtomicFile::write(absl::Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd_, bytes.data(), std::min(bytes.size(), kChunk));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return failed(errno);
    }
    size_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::writeZeros(uint64_t count) {
  static constexpr std::array<uint8_t, 4096> kZeros = {};
  while (count > 0) {
    size_t part = std::min<uint64_t>(count, kZeros.size());
    GR_RETURN_IF_ERROR(write({kZeros.data(), part}));
    count -= part;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::commit() {
  int syncFailed = ::fsync(fd_);
  int error = errno;
  // Network file systems report a full disk no earlier than here.
  if (int closeFailed = ::close(std::exchange(fd_, -1)); syncFailed == 0 && closeFailed != 0) {
    syncFailed = closeFailed;
    error = errno;
  }
  if (syncFailed != 0) {
    return failed(error);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return failed(errno);
  }
  temporary_.clear();
  return syncFolder(path_);
}

}  // namespace graphrun::runtime
