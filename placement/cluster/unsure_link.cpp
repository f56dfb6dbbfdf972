#include "placement/cluster/unsure_link.h"

#include <algorithm>

namespace graphrun::placement {
namespace {

/// As of an outlier of several measurements (runtime/session/profile/cost_profile.cpp).
constexpr int64_t kSlowest = 3;

LinkLine bounded(const LinkLine& measured, const LinkLine& usual) {
  return {std::min(measured.latencyNs, kSlowest * usual.latencyNs),
          std::max(measured.bytesPerSecond, usual.bytesPerSecond / kSlowest)};
}

}  // namespace

LinkModel atMostSoSlow(LinkModel measured, const LinkModel& usual) {
  const LinkLine small = bounded(measured.small(), usual.small());
  measured.latencyNs = small.latencyNs;
  measured.bytesPerSecond = small.bytesPerSecond;
  if (measured.large.has_value()) {
    measured.large->line = bounded(measured.large->line, usual.lineOf(measured.large->fromBytes));
  }
  return measured;
}

}  // namespace graphrun::placement
