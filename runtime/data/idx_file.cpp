#include "runtime/data/idx_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor_memory.h"
#include "runtime/data/gzip.h"

namespace graphrun::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "elements of files are big-endian");

constexpr size_t kMagicBytes = 4;
constexpr size_t kDimBytes = 4;
constexpr size_t kMostDims = 8;

template <typename... Parts>
absl::Status invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

/// The bytes of a file behind its compression, if it has one.
class Content {
 public:
  static absl::StatusOr<Content> open(absl::Span<const uint8_t> bytes) {
    Content content(bytes);
    if (isGzip(bytes)) {
      GR_ASSIGN_OR_RETURN(GzipReader gzip, GzipReader::create(bytes));
      content.gzip_.emplace(std::move(gzip));
    }
    return content;
  }

  absl::StatusOr<size_t> read(absl::Span<uint8_t> out) {
    if (gzip_.has_value()) {
      return gzip_->read(out);
    }
    const size_t got = std::min(out.size(), bytes_.size() - at_);
    std::copy_n(bytes_.data() + at_, got, out.data());
    at_ += got;
    return got;
  }
  /// No more bytes than these can follow the first `before`.
  uint64_t most(size_t before) const {
    return gzip_.has_value() ? mostInflated(bytes_.size()) : bytes_.size() - before;
  }

 private:
  explicit Content(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}

  absl::Span<const uint8_t> bytes_;
  size_t at_ = 0;
  std::optional<GzipReader> gzip_;
};

ElementType typeOf(uint8_t code) {
  switch (code) {
    case 0x08:
      return ElementType::kU8;
    case 0x09:
      return ElementType::kI8;
    case 0x0b:
      return ElementType::kI16;
    case 0x0c:
      return ElementType::kI32;
    case 0x0d:
      return ElementType::kF32;
    case 0x0e:
      return ElementType::kF64;
    default:
      return ElementType::kInvalid;
  }
}

absl::Status shortHeader(size_t got, size_t expected) {
  return invalid("header ends after ", got, " bytes, expected ", expected,
                 "; the file is truncated: get it again");
}

absl::StatusOr<TensorSpec> readHeader(Content& content) {
  std::array<uint8_t, kMagicBytes> magic{};
  GR_ASSIGN_OR_RETURN(size_t got, content.read(absl::MakeSpan(magic)));
  if (got < magic.size()) {
    return shortHeader(got, magic.size());
  }
  TensorSpec spec{typeOf(magic[2]), {}};
  if (magic[0] != 0 || magic[1] != 0 || spec.type == ElementType::kInvalid) {
    return invalid(
        "begins with ",
        absl::StrFormat("%02x %02x %02x %02x", magic[0], magic[1], magic[2], magic[3]),
        ", expected 00 00, a type (08, 09, 0b, 0c, 0d or 0e) and a number of dims; is it an IDX "
        "file?");
  }
  if (magic[3] < 1 || magic[3] > kMostDims) {
    return invalid("has ", int{magic[3]}, " dims, expected 1 to ", kMostDims);
  }
  std::array<uint8_t, kDimBytes * kMostDims> dims{};
  const size_t bytes = magic[3] * kDimBytes;
  GR_ASSIGN_OR_RETURN(got, content.read(absl::MakeSpan(dims).first(bytes)));
  if (got < bytes) {
    return shortHeader(kMagicBytes + got, kMagicBytes + bytes);
  }
  for (size_t i = 0; i < bytes; i += kDimBytes) {
    spec.dims.push_back(int64_t{dims[i]} << 24 | dims[i + 1] << 16 | dims[i + 2] << 8 |
                        dims[i + 3]);
  }
  return spec;
}

void swapBytes(HostTensor& tensor) {
  const size_t size = elementSize(tensor.spec().type);
  auto* data = static_cast<uint8_t*>(tensor.data());
  for (size_t i = 0; size > 1 && i < tensor.byteSize(); i += size) {
    std::reverse(data + i, data + i + size);
  }
}

absl::StatusOr<HostTensor> readTensor(absl::Span<const uint8_t> bytes) {
  GR_ASSIGN_OR_RETURN(Content content, Content::open(bytes));
  GR_ASSIGN_OR_RETURN(TensorSpec spec, readHeader(content));
  GR_ASSIGN_OR_RETURN(size_t size, checkedByteSize(spec.type, spec.dims));
  const uint64_t most = content.most(kMagicBytes + spec.dims.size() * kDimBytes);
  if (size > most) {
    return invalid("header promises ", size, " bytes of data (", spec.toString(), "), but a file ",
                   "of this size holds at most ", most, "; the file is truncated: get it again");
  }
  GR_ASSIGN_OR_RETURN(HostTensor tensor, allocateTensor(spec));
  GR_ASSIGN_OR_RETURN(size_t got, content.read({static_cast<uint8_t*>(tensor.data()), size}));
  if (got < size) {
    return invalid("has ", got, " bytes of data, expected ", size, " (", spec.toString(),
                   "); the file is truncated: get it again");
  }
  std::array<uint8_t, 1> beyond{};
  GR_ASSIGN_OR_RETURN(got, content.read(absl::MakeSpan(beyond)));
  if (got > 0) {
    return invalid("goes on behind the ", size, " bytes of data that its header promises (",
                   spec.toString(), "); get the file again");
  }
  swapBytes(tensor);
  return tensor;
}

}  // namespace

absl::StatusOr<HostTensor> parseIdx(absl::Span<const uint8_t> bytes, absl::string_view name) {
  absl::StatusOr<HostTensor> tensor = readTensor(bytes);
  return tensor.ok() ? std::move(tensor)
                     : annotate(tensor.status(), absl::StrCat("IDX file '", name, "'"));
}

absl::StatusOr<HostTensor> readIdx(const std::string& path) {
  GR_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  return parseIdx(file.bytes(), path);
}

}  // namespace graphrun::runtime
