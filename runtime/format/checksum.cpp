#include "runtime/format/checksum.h"

#include <xxhash.h>

namespace graphrun::format {

uint64_t checksumOf(absl::Span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace graphrun::format
