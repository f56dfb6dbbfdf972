// All files have this one checksum: XXH3-64. It finds damage; it is no protection against a forger.
#ifndef GRAPHRUN_RUNTIME_FORMAT_CHECKSUM_H_
#define GRAPHRUN_RUNTIME_FORMAT_CHECKSUM_H_

#include <cstdint>

#include "absl/types/span.h"

namespace graphrun::format {

/// XXH3-64 of `bytes` with seed 0.
uint64_t checksumOf(absl::Span<const uint8_t> bytes);

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_CHECKSUM_H_
