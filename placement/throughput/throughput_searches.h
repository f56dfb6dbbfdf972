// Searches for the shortest period of steps: rows of the table in strategy.h, a file each.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_THROUGHPUT_SEARCHES_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_THROUGHPUT_SEARCHES_H_

#include "absl/status/statusor.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// For throughput. Cuts many topological orders into one part for each device, the best way for
/// each order: contiguous, with the smallest load. See segment_plan.h.
absl::StatusOr<PlacementResult> improveBySegments(const PlacementProblem& problem,
                                                  const PlacementResult* start);
/// For throughput. Moves nodes until the loads of devices and links are even; contiguous where that
/// is asked for. See load_search.h.
absl::StatusOr<PlacementResult> improveByBalance(const PlacementProblem& problem,
                                                 const PlacementResult* start);
bool isForThroughput(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_THROUGHPUT_SEARCHES_H_
