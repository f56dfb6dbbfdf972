// A new placement from one for a graph or cluster that was a little different.
#ifndef GRAPHRUN_PLACEMENT_STRATEGIES_REPLAN_H_
#define GRAPHRUN_PLACEMENT_STRATEGIES_REPLAN_H_

#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Begins with what still fits of a placement file, with new nodes where what they read is, and
/// improves on it with a fraction of the work of `auto`. Not worse than the best single device.
/// Without a placement to begin with that keeps to the memory limits, what `auto` gives.
/// InvalidArgument: the file is none; otherwise as place.
absl::StatusOr<PlacementResult> replan(const PlacementProblem& problem, absl::string_view json,
                                       absl::string_view fileName);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STRATEGIES_REPLAN_H_
