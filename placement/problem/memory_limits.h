// Memory limits of devices against what a simulation found.
#ifndef GRAPHRUN_PLACEMENT_PROBLEM_MEMORY_LIMITS_H_
#define GRAPHRUN_PLACEMENT_PROBLEM_MEMORY_LIMITS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// OK, or ResourceExhausted naming every device whose peak passes its limit, with the node of the
/// peak.
absl::Status checkLimits(const PlacementProblem& problem, const Simulation& simulation);

/// By device, what the simulation uses beyond the limits.
std::vector<int64_t> excessBytes(const PlacementProblem& problem, const Simulation& simulation);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PROBLEM_MEMORY_LIMITS_H_
