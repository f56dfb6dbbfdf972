#include "runtime/base/file_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

// write(2) takes at most about 2 GiB at once.
constexpr size_t kChunk = size_t{1} << 30;

}  // namespace

FileWriter::FileWriter(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : name_(std::move(other.name_)), fd_(other.release()), size_(other.size_) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

int FileWriter::release() { return std::exchange(fd_, -1); }

absl::Status FileWriter::failed(int errnoValue) const {
  return annotate(fileError("write", name_, errnoValue), absl::StrCat("after ", size_, " bytes"));
}

absl::Status FileWriter::write(absl::Span<const uint8_t> bytes) {
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

absl::Status FileWriter::writeZeros(uint64_t count) {
  static constexpr std::array<uint8_t, 4096> kZeros = {};
  while (count > 0) {
    size_t part = std::min<uint64_t>(count, kZeros.size());
    GR_RETURN_IF_ERROR(write({kZeros.data(), part}));
    count -= part;
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
