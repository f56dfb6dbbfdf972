#include "placement/strategies/memory_advice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/problem/placement_result.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

constexpr double kScalePrecision = 1.01;

std::vector<int64_t> scaledLimits(const std::vector<int64_t>& limits, double scale) {
  std::vector<int64_t> scaled;
  for (int64_t limit : limits) {
    double bytes = std::ceil(static_cast<double>(limit) * scale);
    scaled.push_back(limit == kUnlimited || bytes >= static_cast<double>(kUnlimited)
                         ? kUnlimited
                         : static_cast<int64_t>(bytes));
  }
  return scaled;
}

std::optional<std::vector<int64_t>> peaksWithin(const PlacementProblem& problem,
                                                std::vector<int64_t> limits) {
  PlacementProblem relaxed = problem;
  relaxed.limits = std::move(limits);
  absl::StatusOr<PlacementResult> result = placeGreedy(relaxed);
  if (!result.ok()) {
    result = placeSingle(relaxed);
  }
  if (!result.ok()) {
    return std::nullopt;
  }
  std::vector<int64_t> peaks;
  for (const DeviceUse& use : result->simulation.devices) {
    peaks.push_back(use.peakBytes);
  }
  return peaks;
}

/// The least peak on `device` when nothing else may be used: in program order, or, asked for one
/// byte less than that, in the order that `single` falls back to.
std::optional<int64_t> peakAlone(const PlacementProblem& problem, int device) {
  std::vector<int64_t> limits(problem.limits.size(), kUnlimited);
  std::optional<int64_t> best;
  for (int round = 0; round < 2; ++round) {
    PlacementProblem one = problem;
    one.limits = limits;
    for (Unit& unit : one.constraints.units) {
      if (!unit.pinned && !unit.allows(device)) {
        return std::nullopt;
      }
      unit.allowed = unit.pinned ? unit.allowed : std::vector<int>{device};
    }
    absl::StatusOr<PlacementResult> result = placeSingle(one);
    if (!result.ok()) {
      return best;
    }
    best = result->simulation.devices[static_cast<size_t>(device)].peakBytes;
    limits[static_cast<size_t>(device)] = std::max<int64_t>(*best - 1, 0);
  }
  return best;
}

/// Doubles until a placement is found, then halves the interval.
void searchScale(const PlacementProblem& problem, MemoryAdvice& advice) {
  double low = 1;
  double high = 1;
  std::optional<std::vector<int64_t>> peaks;
  for (int i = 0; i < 50 && !peaks.has_value(); ++i) {
    low = high;
    high *= 2;
    peaks = peaksWithin(problem, scaledLimits(problem.limits, high));
  }
  while (peaks.has_value() && high / low > kScalePrecision) {
    double middle = std::sqrt(low * high);
    auto tried = peaksWithin(problem, scaledLimits(problem.limits, middle));
    (tried.has_value() ? high : low) = middle;
    peaks = tried.has_value() ? std::move(tried) : std::move(peaks);
  }
  if (peaks.has_value()) {
    advice.scale = high;
    advice.spread = *std::move(peaks);
  }
}

int64_t smallestTotal(const CostGraph& graph) {
  int64_t weights = 0;
  int64_t largest = 0;
  for (const CostNode& node : graph.nodes) {
    weights += node.weightBytes;
    int64_t bytes = node.workspaceBytes;
    for (int t : node.outputs) {
      bytes += graph.tensor(t).liveBytes();
    }
    largest = std::max(largest, bytes);
  }
  for (const SharedWeights& shared : graph.sharedWeights) {
    weights -= shared.bytes * std::max<int64_t>(0, static_cast<int64_t>(shared.nodes.size()) - 1);
  }
  return weights + largest;
}

}  // namespace

MemoryAdvice adviseMemory(const PlacementProblem& problem) {
  MemoryAdvice advice;
  for (int device = 0; device < problem.deviceCount(); ++device) {
    advice.alone.push_back(peakAlone(problem, device));
  }
  searchScale(problem, advice);
  advice.atLeastTotal = smallestTotal(problem.graph());
  return advice;
}

std::string describeAdvice(const PlacementProblem& problem, const MemoryAdvice& advice) {
  const std::vector<Device>& devices = problem.cluster().devices;
  std::vector<std::string> lines;
  for (size_t d = 0; d < advice.alone.size(); ++d) {
    if (std::optional<int64_t> bytes = advice.alone[d]) {
      lines.push_back(absl::StrCat("  all on ", devices[d].name, ": ",
                                   runtime::formatNeededBytes(problem.withMargin(*bytes))));
    }
  }
  if (advice.scale.has_value()) {
    std::vector<std::string> parts;
    parts.reserve(advice.spread.size());
    for (size_t d = 0; d < advice.spread.size(); ++d) {
      parts.push_back(absl::StrCat(
          devices[d].name, " ", runtime::formatNeededBytes(problem.withMargin(advice.spread[d]))));
    }
    int64_t total = std::accumulate(advice.spread.begin(), advice.spread.end(), int64_t{0});
    lines.push_back(absl::StrCat("  spread over all devices: ", absl::StrJoin(parts, ", "), "; ",
                                 runtime::formatNeededBytes(problem.withMargin(total)),
                                 " in total (the limits times ",
                                 absl::StrFormat("%.2f", *advice.scale), ")"));
  }
  lines.push_back(
      absl::StrCat("  never less than ", runtime::formatBytes(advice.atLeastTotal), " in total"));
  return absl::StrCat("least memory that is enough:\n", absl::StrJoin(lines, "\n"));
}

}  // namespace graphrun::placement
