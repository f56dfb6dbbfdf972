#include "frontends/onnx/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/onnx/problems.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA1.h"

namespace graphrun::frontends {
namespace {

/// The blobs of weights are aligned to at least this; data that is not is copied.
constexpr size_t kFileAlignment = 8;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// The parts of a name inside the model's folder; none for a name that leads out of it.
std::vector<std::string> partsOf(const std::string& location) {
  bool bad = location.empty() || location.front() == '/' ||
             location.find_first_of(std::string("\0\\", 2)) != std::string::npos;
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(bad ? "" : location, '/', absl::SkipEmpty())) {
    if (part == "..") {
      return {};
    }
    if (part != ".") {
      parts.emplace_back(part);
    }
  }
  return parts;
}

/// Opens a file below `folder`, no link on the way.
Descriptor openBelow(const std::string& folder, const std::vector<std::string>& parts,
                     std::string& problem) {
  Descriptor at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; at.get() >= 0 && i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    int flags = O_NOFOLLOW | O_CLOEXEC | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    at = Descriptor(::openat(at.get(), parts[i].c_str(), flags));
  }
  if (at.get() < 0) {
    bool isLink = errno == ELOOP || errno == ENOTDIR;
    problem = isLink ? "a part of its name is a symbolic link or no folder, which is not followed; "
                       "copy the model together with its files"
                     : absl::StrCat(std::strerror(errno),
                                    "; the file belongs beside the model: copy them together");
  }
  return at;
}

/// Entry `key` of the tensor's external_data; empty when there is none.
std::string entryOf(const ::onnx::TensorProto& tensor, absl::string_view key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == key) {
      return entry.value();
    }
  }
  return "";
}

/// Entry `key` as a number; `otherwise` when there is none, nothing when it is no number >= 0.
std::optional<uint64_t> numberOf(const ::onnx::TensorProto& tensor, absl::string_view key,
                                 uint64_t otherwise, std::string& problem) {
  std::string text = entryOf(tensor, key);
  uint64_t number = otherwise;
  if (!text.empty() && !absl::SimpleAtoi(text, &number)) {
    problem = absl::StrCat("gives ", std::string(key), " ", inQuotes(text),
                           " for its external data, expected a number of bytes");
    return std::nullopt;
  }
  return number;
}

}  // namespace

/// A file in memory, read only.
class MappedFile {
 public:
  /// Null, with the reason in `problem`, when it is no regular file or cannot be mapped.
  static std::shared_ptr<MappedFile> map(int fd, std::string& problem) {
    struct stat status{};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
      problem = "it is no regular file";
      return nullptr;
    }
    auto size = static_cast<size_t>(status.st_size);
    void* data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      problem = absl::StrCat("it cannot be mapped: ", std::strerror(errno));
      return nullptr;
    }
    return std::shared_ptr<MappedFile>(new MappedFile(static_cast<const char*>(data), size));
  }

  ~MappedFile() {
    if (data_ != nullptr) {
      ::munmap(const_cast<char*>(data_), size_);
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  llvm::ArrayRef<char> bytes() const { return {data_, size_}; }

  /// SHA-1 of the file in hexadecimal digits, computed once.
  const std::string& checksum() {
    if (checksum_.empty()) {
      llvm::SHA1 hash;
      hash.update(llvm::StringRef(data_, size_));
      checksum_ = llvm::toHex(hash.final(), /*LowerCase=*/true);
    }
    return checksum_;
  }

 private:
  MappedFile(const char* data, size_t size) : data_(data), size_(size) {}
  const char* data_;
  size_t size_;
  std::string checksum_;
};

ExternalData::ExternalData(std::string folder) : folder_(std::move(folder)) {}
ExternalData::~ExternalData() = default;

std::shared_ptr<MappedFile> ExternalData::open(const std::string& location, std::string& problem) {
  auto [entry, isNew] = files_.try_emplace(location);
  if (!isNew && entry->second) {
    return entry->second;
  }
  std::string reason;
  std::vector<std::string> parts = partsOf(location);
  if (folder_.empty()) {
    reason = "the model is in memory and has no folder; import it from its file";
  } else if (parts.empty()) {
    reason = "expected a name inside the model's folder, without \"..\"";
  } else {
    Descriptor file = openBelow(folder_, parts, reason);
    entry->second = file.get() < 0 ? nullptr : MappedFile::map(file.get(), reason);
  }
  if (!entry->second) {
    problem = absl::StrCat("keeps its data in the file ", inQuotes(location), ": ", reason);
  }
  return entry->second;
}

std::optional<mlir::AsmResourceBlob> ExternalData::read(const ::onnx::TensorProto& tensor,
                                                        std::string& problem) {
  std::string location = entryOf(tensor, "location");
  std::shared_ptr<MappedFile> file = open(location, problem);
  std::optional<uint64_t> offset = numberOf(tensor, "offset", 0, problem);
  if (!file || !offset) {
    return std::nullopt;
  }
  llvm::ArrayRef<char> all = file->bytes();
  std::optional<uint64_t> length =
      numberOf(tensor, "length", all.size() - std::min<uint64_t>(*offset, all.size()), problem);
  if (!length) {
    return std::nullopt;
  }
  if (*offset > all.size() || *length > all.size() - *offset) {
    problem = absl::StrCat("keeps ", *length, " bytes at offset ", *offset, " of the file ",
                           inQuotes(location), ", which has only ", all.size(),
                           "; it is cut off or belongs to another model");
    return std::nullopt;
  }
  std::string checksum = llvm::StringRef(entryOf(tensor, "checksum")).lower();
  if (!checksum.empty() && checksum != file->checksum()) {
    problem =
        absl::StrCat("expects the SHA-1 ", inQuotes(checksum), " of the file ", inQuotes(location),
                     ", got ", file->checksum(), "; it is damaged or belongs to another model");
    return std::nullopt;
  }
  llvm::ArrayRef<char> bytes = all.slice(*offset, *length);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kFileAlignment != 0) {
    return mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, kFileAlignment);
  }
  return mlir::AsmResourceBlob(
      bytes, kFileAlignment, [file](void*, size_t, size_t) {}, /*dataIsMutable=*/false);
}

bool ExternalData::inlineInto(::onnx::TensorProto& tensor, std::string& problem) {
  std::optional<mlir::AsmResourceBlob> blob = read(tensor, problem);
  if (!blob) {
    return false;
  }
  tensor.set_raw_data(blob->getData().data(), blob->getData().size());
  tensor.clear_data_location();
  tensor.clear_external_data();
  return true;
}

}  // namespace graphrun::frontends
