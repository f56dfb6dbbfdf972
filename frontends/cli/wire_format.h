// The wire format of protocol buffers, as far as ONNX's files need it.
#ifndef GRAPHRUN_FRONTENDS_CLI_WIRE_FORMAT_H_
#define GRAPHRUN_FRONTENDS_CLI_WIRE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphrun::cli {

enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Takes values off the front of `bytes`, which must outlive it. Each function returns false, and
/// the reader is of no more use, when the bytes end before the value does.
class WireReader {
 public:
  explicit WireReader(absl::Span<const uint8_t> bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }
  absl::Span<const uint8_t> rest() const { return rest_; }
  bool varint(uint64_t& value);
  bool fixed(size_t size, absl::Span<const uint8_t>& value);
  /// Reads what kBytes announces: a length, and so many bytes.
  bool bytes(absl::Span<const uint8_t>& value);
  /// The number and wire type of the field that comes next.
  bool tag(uint32_t& field, uint32_t& wire);
  bool skip(uint32_t wire);

 private:
  absl::Span<const uint8_t> rest_;
};

/// Appends a field of wire type kBytes.
void appendBytes(uint32_t field, absl::string_view bytes, std::string& out);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_WIRE_FORMAT_H_
