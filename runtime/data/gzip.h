// A GzipReader decompresses gzip data piece by piece.
#ifndef GRAPHRUN_RUNTIME_DATA_GZIP_H_
#define GRAPHRUN_RUNTIME_DATA_GZIP_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

struct z_stream_s;

namespace graphrun::runtime {

/// Returns whether `bytes` begin as gzip data do.
bool isGzip(absl::Span<const uint8_t> bytes);

/// The most bytes that `compressed` ones can become: a block of deflate gives at most 1,032 for one
/// (RFC 1951: a length of 258 for two bits).
constexpr uint64_t mostInflated(uint64_t compressed) { return (compressed + 1) * 1032; }

/// Reads gzip data (RFC 1952) in memory, several members one behind the other as one. It allocates
/// some 50 KiB, however large the data become. One thread at a time; `bytes` stay the caller's.
class GzipReader {
 public:
  static absl::StatusOr<GzipReader> create(absl::Span<const uint8_t> bytes);
  GzipReader(GzipReader&&) noexcept;
  GzipReader& operator=(GzipReader&&) = delete;
  ~GzipReader();

  /// Fills `out` and returns how many bytes there were: fewer than asked for only at the end, where
  /// checksum and length have been found right. InvalidArgument for damaged or truncated data.
  absl::StatusOr<size_t> read(absl::Span<uint8_t> out);

 private:
  explicit GzipReader(absl::Span<const uint8_t> bytes);
  absl::Status failed(int code) const;

  absl::Span<const uint8_t> bytes_;
  size_t fed_ = 0;  ///< bytes that the library was given
  std::unique_ptr<z_stream_s> stream_;
  bool ended_ = false;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_DATA_GZIP_H_
