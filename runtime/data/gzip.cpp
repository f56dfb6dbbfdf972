#include "runtime/data/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

constexpr int kGzipFormat = 16;                  // added to the window's bits: gzip, not zlib
constexpr size_t kMostAtOnce = size_t{1} << 30;  // the library counts with 32 bits

}  // namespace

bool isGzip(absl::Span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

GzipReader::GzipReader(absl::Span<const uint8_t> bytes)
    : bytes_(bytes), stream_(std::make_unique<z_stream_s>()) {}

GzipReader::GzipReader(GzipReader&&) noexcept = default;

GzipReader::~GzipReader() {
  if (stream_ != nullptr) {
    inflateEnd(stream_.get());
  }
}

absl::StatusOr<GzipReader> GzipReader::create(absl::Span<const uint8_t> bytes) {
  GzipReader reader(bytes);
  const int code = inflateInit2(reader.stream_.get(), MAX_WBITS + kGzipFormat);
  if (code != Z_OK) {
    return reader.failed(code);
  }
  return reader;
}

absl::Status GzipReader::failed(int code) const {
  const size_t at = fed_ - stream_->avail_in;
  if (code == Z_MEM_ERROR) {
    return absl::ResourceExhaustedError("memory has no room for decompression; free some");
  }
  if (code == Z_BUF_ERROR) {
    return absl::InvalidArgumentError(
        absl::StrCat("compressed data end after ", bytes_.size(),
                     " bytes, expected more; the file is truncated: get it again"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("compressed data are damaged at byte ", at,
                   stream_->msg != nullptr ? absl::StrCat(" (", stream_->msg, ")") : "",
                   "; get the file again"));
}

absl::StatusOr<size_t> GzipReader::read(absl::Span<uint8_t> out) {
  size_t got = 0;
  while (got < out.size() && !ended_) {
    if (stream_->avail_in == 0) {
      const size_t more = std::min(bytes_.size() - fed_, kMostAtOnce);
      stream_->next_in = const_cast<Bytef*>(bytes_.data() + fed_);
      stream_->avail_in = static_cast<uInt>(more);
      fed_ += more;
    }
    const size_t room = std::min(out.size() - got, kMostAtOnce);
    stream_->next_out = out.data() + got;
    stream_->avail_out = static_cast<uInt>(room);
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    got += room - stream_->avail_out;
    if (code == Z_STREAM_END) {
      ended_ = stream_->avail_in == 0 && fed_ == bytes_.size();
      if (!ended_ && inflateReset(stream_.get()) != Z_OK) {
        return failed(Z_STREAM_ERROR);
      }
    } else if (code != Z_OK) {
      return failed(code);
    }
  }
  return got;
}

}  // namespace graphrun::runtime
