#include "runtime/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

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

/// Links that are followed before they count as a circle; the system's own limit.
constexpr int kMostLinks = 40;

/// Returns the target of a link, seen from the folder that it lies in; "" where `path` is none.
std::string linkTarget(const std::string& path) {
  std::error_code error;
  std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error) {
    return "";
  }
  return target.is_absolute() ? target.string()
                              : absl::StrCat(folderOf(path), "/", target.string());
}

/// The number of an open file that `path` stands for; nothing for a path of another kind.
std::optional<int> openFileOf(absl::string_view path) {
  int fd = 0;
  bool isOne =
      absl::ConsumePrefix(&path, "/dev/fd/") || absl::ConsumePrefix(&path, "/proc/self/fd/");
  return isOne && absl::SimpleAtoi(path, &fd) && fd >= 0 ? std::optional(fd) : std::nullopt;
}

/// A Destination is what is written to: a file that need not exist, or one that is open already.
struct Destination {
  std::string path;
  std::optional<int> open;
};

absl::StatusOr<Destination> destinationOf(std::string path) {
  for (int links = 0; links < kMostLinks; ++links) {
    if (std::optional<int> open = openFileOf(path)) {
      return Destination{path, open};
    }
    std::string target = linkTarget(path);
    if (target.empty()) {
      return Destination{std::move(path), std::nullopt};
    }
    path = std::move(target);
  }
  return fileError("write", path, ELOOP);
}

/// Gives a new file mode and owner of the one that it is to replace. A file of somebody else, whose
/// owner cannot be kept, loses the bits by which it would run as its owner.
void resemble(int fd, const struct stat& old) {
  bool isOwners = ::fchown(fd, old.st_uid, old.st_gid) == 0;
  ::fchmod(fd, old.st_mode & (isOwners ? 07777U : 0777U));
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::create(const std::string& path) {
  GR_ASSIGN_OR_RETURN(Destination destination, destinationOf(path));
  struct stat info = {};
  const bool exists = !destination.open && ::stat(destination.path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write '", path, "': it is a folder, expected a file"));
  }
  if (destination.open || (exists && !S_ISREG(info.st_mode))) {
    int fd = destination.open ? ::fcntl(*destination.open, F_DUPFD_CLOEXEC, 0)
                              : ::open(destination.path.c_str(), O_WRONLY | O_CLOEXEC);
    return fd < 0 ? absl::StatusOr<AtomicFile>(fileError("write", path, errno))
                  : AtomicFile(path, "", fd);
  }
  // A file that may not be written is not replaced either.
  if (exists && ::access(destination.path.c_str(), W_OK) != 0) {
    return fileError("write", path, errno);
  }
  std::string temporary = temporaryName(destination.path);
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) {
    return fileError("write", path, errno);
  }
  if (exists) {
    resemble(fd, info);
  }
  return AtomicFile(std::move(destination.path), std::move(temporary), fd);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : FileWriter(std::move(path), fd), temporary_(std::move(temporary)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : FileWriter(static_cast<FileWriter&&>(other)),
      temporary_(std::exchange(other.temporary_, std::string())) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

absl::Status AtomicFile::commit() {
  int syncFailed = ::fsync(fd());
  int error = errno;
  if (syncFailed != 0 && (error == EINVAL || error == EROFS)) {
    syncFailed = 0;  // pipes and devices hold nothing back
  }
  // Network file systems report a full disk no earlier than here.
  if (int closeFailed = ::close(release()); syncFailed == 0 && closeFailed != 0) {
    syncFailed = closeFailed;
    error = errno;
  }
  if (syncFailed != 0) {
    return failed(error);
  }
  if (temporary_.empty()) {
    return absl::OkStatus();
  }
  if (::rename(temporary_.c_str(), name().c_str()) != 0) {
    return failed(errno);
  }
  temporary_.clear();
  return syncFolder(name());
}

}  // namespace graphrun::runtime
