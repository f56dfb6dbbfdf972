// These searches look for the shortest step: they are rows of the table in strategy.h, a file each.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_LATENCY_SEARCHES_H_
#define GRAPHRUN_PLACEMENT_SEARCH_LATENCY_SEARCHES_H_

#include "absl/status/statusor.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// The shortest step on devices that share cores: list schedules in which each node has a device
/// with about as many cores as others leave it. See strategy_cores.cpp.
absl::StatusOr<PlacementResult> improveByCores(const PlacementProblem& problem,
                                               const PlacementResult* start);
bool isForCores(const PlacementProblem& problem);
/// The shortest step on devices that run one node at a time, by local search from `start`, or from
/// what placeGreedy gives: see local_search.h.
absl::StatusOr<PlacementResult> improveBySearch(const PlacementProblem& problem,
                                                const PlacementResult* start);
bool isForSearch(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_LATENCY_SEARCHES_H_
