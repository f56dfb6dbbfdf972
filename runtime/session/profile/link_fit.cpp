#include "runtime/session/profile/link_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace graphrun::runtime {
namespace {

using Transfers = absl::Span<const format::TransferTime>;

/// More runs than this make a time no surer: all sizes are to count much alike.
constexpr uint64_t kSureTransfers = 50;

double weightOf(const format::TransferTime& transfer) {
  return static_cast<double>(std::min(transfer.runs(), kSureTransfers));
}

/// The line with the least squares, each transfer weighed by what `before` says it takes; neither
/// part is negative.
LinkLine leastSquares(Transfers transfers, const std::optional<LinkLine>& before) {
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const format::TransferTime& transfer : transfers) {
    auto x = static_cast<double>(transfer.bytes());
    auto y = static_cast<double>(transfer.ns());
    double scale = before ? static_cast<double>(before->nanos(transfer.bytes())) : y;
    double weight = weightOf(transfer) / (scale * scale + 1);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * y;
    wxy += weight * x * y;
  }
  double spread = w * wxx - wx * wx;
  double slope = transfers.size() < 2 || spread <= 0 ? 0 : (w * wxy - wx * wy) / spread;
  double latency = (wy - slope * wx) / w;
  if (slope < 0) {
    slope = 0;
    latency = wy / w;
  } else if (latency < 0) {
    latency = 0;
    slope = wxy / wxx;
  }
  constexpr double kLeastSlope = 1e-3;  // ns a byte: a terabyte a second
  return {static_cast<uint64_t>(std::llround(latency)), 1e9 / std::max(slope, kLeastSlope)};
}

// Of relative errors the squares are least where the line itself is what they are relative to:
// relative to what was measured, slow transfers would count for little and the line lie too low.
LinkLine lineThrough(Transfers transfers) {
  constexpr int kRounds = 5;
  LinkLine line = leastSquares(transfers, std::nullopt);
  for (int i = 1; i < kRounds; ++i) {
    line = leastSquares(transfers, line);
  }
  return line;
}

/// The squares of the logarithms of how far it is off.
double errorOf(const LinkFit& fit, Transfers transfers) {
  double error = 0;
  for (const format::TransferTime& transfer : transfers) {
    double off = std::log(static_cast<double>(fit.nanos(transfer.bytes()) + 1) /
                          static_cast<double>(transfer.ns() + 1));
    error += weightOf(transfer) * off * off;
  }
  return error;
}

}  // namespace

std::optional<LinkFit> fitLink(absl::Span<const format::TransferTime> transfers) {
  constexpr size_t kFewest = 2;  // points of a line
  constexpr double kBetter = 0.8;
  if (transfers.empty()) {
    return std::nullopt;
  }
  LinkLine one = lineThrough(transfers);
  LinkFit best = {one, one, 0};
  double least = kBetter * errorOf(best, transfers);
  for (size_t split = kFewest; split + kFewest <= transfers.size(); ++split) {
    const uint64_t between = std::midpoint(transfers[split - 1].bytes(), transfers[split].bytes());
    LinkFit two = {lineThrough(transfers.first(split)), lineThrough(transfers.subspan(split)),
                   between};
    if (double error = errorOf(two, transfers); error < least) {
      least = error;
      best = two;
    }
  }
  return best;
}

}  // namespace graphrun::runtime
