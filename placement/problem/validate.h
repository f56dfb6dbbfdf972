// The check of a placement that is independent of who made it.
#ifndef GRAPHRUN_PLACEMENT_PROBLEM_VALIDATE_H_
#define GRAPHRUN_PLACEMENT_PROBLEM_VALIDATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "placement/cost_graph/placement.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Every rule that `placement` breaks, one sentence each; empty for a valid one. Checked: one
/// existing device that supports it for each node, pins, colocation groups, ranks that are a
/// topological order, no circle of devices that wait for each other, contiguity where the problem
/// asks for it, and, when all that holds, the peak memory of each device against its limit.
std::vector<std::string> placementViolations(const PlacementProblem& problem,
                                             const Placement& placement);

/// FailedPrecondition with all violations, one a line.
absl::Status validatePlacement(const PlacementProblem& problem, const Placement& placement);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PROBLEM_VALIDATE_H_
