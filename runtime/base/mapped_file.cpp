#include "runtime/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/process.h"

namespace graphrun::runtime {
namespace {

absl::StatusCode codeOf(int errnoValue) {
  switch (errnoValue) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return absl::StatusCode::kInvalidArgument;
    case EIO:
      return absl::StatusCode::kDataLoss;
    case ENOMEM:
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case ETXTBSY:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInvalidArgument;
  }
}

absl::StatusOr<MappedFile> notRegular(const std::string& path, mode_t mode) {
  return absl::InvalidArgumentError(absl::StrCat("cannot read '", path, "': it is ",
                                                 S_ISDIR(mode) ? "a directory" : "not a file",
                                                 ", expected a regular file"));
}

}  // namespace

absl::Status fileError(absl::string_view what, absl::string_view path, int errnoValue) {
  // Not strerror, which is not safe in threads.
  std::string reason = std::generic_category().message(errnoValue);
  return absl::Status(codeOf(errnoValue), absl::StrCat("cannot ", what, " '", path, "': ", reason));
}

absl::StatusOr<MappedFile> MappedFile::open(const std::string& path) {
  return map(path, /*isWatched=*/false);
}

absl::StatusOr<MappedFile> MappedFile::openWatched(const std::string& path) {
  return map(path, /*isWatched=*/true);
}

absl::StatusOr<MappedFile> MappedFile::map(const std::string& path, bool isWatched) {
  // O_NONBLOCK: a FIFO must not stop us before we see that it is one.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return fileError("open", path, errno);
  }
  struct stat info = {};
  int failed = ::fstat(fd, &info);
  if (failed != 0 || !S_ISREG(info.st_mode)) {
    int error = errno;
    ::close(fd);
    return failed != 0 ? fileError("read", path, error) : notRegular(path, info.st_mode);
  }
  MappedFile file;
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ == 0) {
    ::close(fd);
    return file;
  }
  void* address = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
  int error = errno;
  if (address == MAP_FAILED || !isWatched) {
    ::close(fd);
  } else {
    file.fd_ = fd;
    file.written_ = info.st_mtim;
  }
  if (address == MAP_FAILED) {
    const size_t bytes = std::exchange(file.size_, 0);
    return error == ENOMEM ? outOfMemory(absl::StrCat("cannot map '", path, "', ", bytes, " bytes"))
                           : fileError("map", path, error);
  }
  file.data_ = static_cast<const uint8_t*>(address);
  return file;
}

FileChange MappedFile::change() const {
  struct stat now = {};
  if (fd_ < 0 || ::fstat(fd_, &now) != 0) {
    return FileChange::kNone;
  }
  if (static_cast<size_t>(now.st_size) < size_) {
    return FileChange::kCut;
  }
  const bool isSame = static_cast<size_t>(now.st_size) == size_ &&
                      now.st_mtim.tv_sec == written_.tv_sec &&
                      now.st_mtim.tv_nsec == written_.tv_nsec;
  return isSame ? FileChange::kNone : FileChange::kWritten;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::exchange(other.fd_, -1)),
      written_(other.written_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  std::swap(written_, other.written_);
  return *this;
}

void MappedFile::release(absl::Span<const uint8_t> part) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t skip = (page - reinterpret_cast<uintptr_t>(part.data()) % page) % page;
  const size_t whole = part.size() > skip ? (part.size() - skip) / page * page : 0;
  if (whole > 0) {
    static_cast<void>(madvise(const_cast<uint8_t*>(part.data()) + skip, whole, MADV_DONTNEED));
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<uint8_t*>(data_), size_);
  }
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

}  // namespace graphrun::runtime
