#include "frontends/cli/wire_format.h"

namespace graphrun::cli {
namespace {

constexpr uint64_t kMostFields = 0xffff;

void appendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

}  // namespace

bool WireReader::varint(uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    uint8_t byte = rest_.front();
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      return true;
    }
  }
  return false;
}

bool WireReader::fixed(size_t size, absl::Span<const uint8_t>& value) {
  if (size > rest_.size()) {
    return false;
  }
  value = rest_.subspan(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool WireReader::bytes(absl::Span<const uint8_t>& value) {
  uint64_t size = 0;
  return varint(size) && fixed(size, value);
}

bool WireReader::tag(uint32_t& field, uint32_t& wire) {
  uint64_t tag = 0;
  if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > kMostFields) {
    return false;
  }
  field = static_cast<uint32_t>(tag >> 3);
  wire = static_cast<uint32_t>(tag & 7);
  return true;
}

bool WireReader::skip(uint32_t wire) {
  uint64_t number = 0;
  absl::Span<const uint8_t> ignored;
  switch (wire) {
    case kVarint:
      return varint(number);
    case kFixed64:
      return fixed(8, ignored);
    case kBytes:
      return bytes(ignored);
    case kFixed32:
      return fixed(4, ignored);
    default:
      return false;
  }
}

void appendBytes(uint32_t field, absl::string_view bytes, std::string& out) {
  appendVarint(uint64_t{field} << 3 | kBytes, out);
  appendVarint(bytes.size(), out);
  out.append(bytes.data(), bytes.size());
}

}  // namespace graphrun::cli
