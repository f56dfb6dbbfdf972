#include "placement/recompute/recompute.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "placement/recompute/device_search.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

/// The least memory is found to this factor.
constexpr double kPrecision = 1.01;

/// Puts what a device runs again into the order of all: before what it runs first behind that.
std::vector<int> joined(const std::vector<int>& order, const RepeatedStep& step) {
  const std::vector<bool> again = step.repetitions();
  std::vector<int> all;
  size_t next = 0;
  for (int node : order) {
    // The first run of a node of this device is preceded by the repetitions before it.
    size_t first = next;
    while (first < step.size() && again[first]) {
      ++first;
    }
    if (first < step.size() && step.nodes()[first] == node) {
      all.insert(all.end(), step.nodes().begin() + static_cast<ptrdiff_t>(next),
                 step.nodes().begin() + static_cast<ptrdiff_t>(first));
      next = first + 1;
    }
    all.push_back(node);
  }
  return all;
}

absl::Status checkLanes(const PlacementProblem& problem, size_t device) {
  const Device& found = problem.cluster().devices[device];
  return found.lanes == 1 && !found.isOffload
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat(found.name,
                                " runs several nodes at a time, expected a device that runs one: "
                                "only there is it known what is in memory when"));
}

}  // namespace

absl::StatusOr<RecomputedStep> recompute(const PlacementProblem& problem,
                                         const PlacementResult& placed,
                                         const std::vector<bool>& mayRepeat) {
  RecomputedStep result;
  result.order = placed.placement.order();
  for (size_t d = 0; d < problem.limits.size(); ++d) {
    if (placed.simulation.devices[d].peakBytes <= problem.limits[d]) {
      continue;
    }
    if (absl::Status status = checkLanes(problem, d); !status.ok()) {
      return status;
    }
    RepeatedStep step(problem, placed, static_cast<int>(d), mayRepeat);
    if (!DeviceSearch(step, problem.limits[d]).run()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          problem.cluster().devices[d].name, " needs ", runtime::formatBytes(step.peakBytes()),
          " with values computed again, limit ", runtime::formatBytes(problem.limits[d])));
    }
    const std::vector<bool> again = step.repetitions();
    for (size_t i = 0; i < step.size(); ++i) {
      result.repeats += again[i] ? 1 : 0;
      result.extraNs += again[i] ? step.timeNs(step.nodes()[i]) : 0;
    }
    result.order = joined(result.order, step);
  }
  return result;
}

std::vector<int64_t> leastBytes(const PlacementProblem& problem, const PlacementResult& placed,
                                const std::vector<bool>& mayRepeat) {
  std::vector<int64_t> least;
  for (size_t d = 0; d < problem.limits.size(); ++d) {
    const auto device = static_cast<int>(d);
    int64_t proved = placed.simulation.devices[d].peakBytes;
    if (!checkLanes(problem, d).ok()) {
      least.push_back(proved);
      continue;
    }
    auto peakWithin = [&](int64_t limit) {
      RepeatedStep step(problem, placed, device, mayRepeat);
      DeviceSearch(step, limit).run();
      return step.peakBytes();
    };
    // What is found without a limit to keep to is mostly the least; a search that has one may
    // choose otherwise on its way.
    int64_t below = peakWithin(0);
    for (int64_t tried = below;
         static_cast<double>(proved) > kPrecision * static_cast<double>(below);
         tried = below + (proved - below) / 2) {
      const int64_t peak = peakWithin(tried);
      proved = peak <= tried ? std::min(proved, tried) : proved;
      below = peak <= tried ? below : tried;
      if (proved <= below) {
        break;
      }
    }
    least.push_back(proved);
  }
  return least;
}

}  // namespace graphrun::placement
