// A fit gives the time of a transfer by its size, from what transfers took.
#ifndef GRAPHRUN_RUNTIME_SESSION_PROFILE_LINK_FIT_H_
#define GRAPHRUN_RUNTIME_SESSION_PROFILE_LINK_FIT_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "runtime/format/costs_generated.h"

namespace graphrun::runtime {

/// latency + bytes / bandwidth.
struct LinkLine {
  uint64_t latencyNs = 0;
  double bytesPerSecond = 0;

  uint64_t nanos(uint64_t bytes) const {
    return latencyNs + static_cast<uint64_t>(static_cast<double>(bytes) / bytesPerSecond * 1e9);
  }
};

/// The time of a transfer: by one of two lines, as large tensors are sent in another way than small
/// ones, or are held to a rate that small ones are not. Both are the same where one line is as
/// good.
struct LinkFit {
  LinkLine small;
  LinkLine large;
  uint64_t largeFromBytes = 0;  ///< sizes that the large line holds for

  uint64_t nanos(uint64_t bytes) const {
    return (bytes < largeFromBytes ? small : large).nanos(bytes);
  }
};

/// The lines closest to `transfers`, which ascend in size, by relative error: one, or two where
/// that is clearly closer. Nothing without any.
std::optional<LinkFit> fitLink(absl::Span<const format::TransferTime> transfers);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PROFILE_LINK_FIT_H_
