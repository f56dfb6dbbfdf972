// Quantities as people write them: "48GiB", "12GB/s", "3us", "0-7,9".
#ifndef GRAPHRUN_RUNTIME_BASE_UNITS_H_
#define GRAPHRUN_RUNTIME_BASE_UNITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphrun::runtime {

/// Bytes of "48GiB" or "1.5MB". Units: B, KB MB GB TB (powers of 1000), KiB MiB GiB TiB (of 1024).
/// The unit is required and no space may stand before it. InvalidArgument otherwise, for less than
/// a byte and beyond 2^62.
absl::StatusOr<int64_t> parseBytes(absl::string_view text);

/// Bytes per second of "12GB/s" or "100Gbps"; units as in parseBytes, each followed by "/s", or
/// Kbps, Mbps, Gbps (of 1000) for bits.
absl::StatusOr<double> parseBandwidth(absl::string_view text);

/// Nanoseconds of "3us"; units us, ms, s and min. 0 is allowed.
absl::StatusOr<int64_t> parseDuration(absl::string_view text);
/// The same, and a number without a unit is seconds: "200ms", "1.5".
absl::StatusOr<int64_t> parseSeconds(absl::string_view text);

/// CPU numbers of "0-7,9", sorted. InvalidArgument for an empty list, a range that runs backwards,
/// a number given twice or one over 65535.
absl::StatusOr<std::vector<int>> parseCores(absl::string_view text);

/// "512 B", "1.50 KiB", "48.00 GiB": two decimals from KiB on.
std::string formatBytes(int64_t bytes);
/// The same, never rounded down: who gives so much has given enough.
std::string formatNeededBytes(int64_t bytes);

/// "0 ns", "850 ns", "12.34 us", "5.00 ms", "1.20 s".
std::string formatDuration(int64_t ns);

/// "0", "950", "1.20 k", "3.86 G": a count with a decimal prefix.
std::string formatCount(int64_t count);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_UNITS_H_
