// Searches for problems that only cost files describe: rows of the table in strategy.h, a file
// each.
#ifndef GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_COST_FILE_SEARCHES_H_
#define GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_COST_FILE_SEARCHES_H_

#include "absl/status/statusor.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Devices that are all alike and free transfers: see identical_machines.h. Proves the
/// optimum of small graphs.
absl::StatusOr<PlacementResult> improveOnMachines(const PlacementProblem& problem,
                                                  const PlacementResult* start);
bool isForMachines(const PlacementProblem& problem);

/// For the step of devices that are one call, beside others without a limit of nodes at a time and
/// with free transfers. See offload_times.h.
absl::StatusOr<PlacementResult> improveOffload(const PlacementProblem& problem,
                                               const PlacementResult* start);
bool isForOffload(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_COST_FILE_SEARCHES_H_
