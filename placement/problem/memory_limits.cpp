#include "placement/problem/memory_limits.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/units.h"

namespace graphrun::placement {

absl::Status checkLimits(const PlacementProblem& problem, const Simulation& simulation) {
  std::vector<std::string> broken;
  for (size_t d = 0; d < simulation.devices.size(); ++d) {
    const DeviceUse& use = simulation.devices[d];
    if (use.peakBytes > problem.limits[d]) {
      std::string at =
          use.peakNode < 0
              ? ""
              : absl::StrCat(" while '", problem.graph().node(use.peakNode).name, "' runs");
      broken.push_back(absl::StrCat(problem.cluster().devices[d].name, " needs ",
                                    runtime::formatBytes(use.peakBytes), at, ", limit ",
                                    runtime::formatBytes(problem.limits[d])));
    }
  }
  return broken.empty() ? absl::OkStatus()
                        : absl::ResourceExhaustedError(absl::StrJoin(broken, "; "));
}

std::vector<int64_t> excessBytes(const PlacementProblem& problem, const Simulation& simulation) {
  std::vector<int64_t> excess;
  excess.reserve(problem.limits.size());
  for (size_t d = 0; d < problem.limits.size(); ++d) {
    excess.push_back(std::max<int64_t>(simulation.devices[d].peakBytes - problem.limits[d], 0));
  }
  return excess;
}

}  // namespace graphrun::placement
