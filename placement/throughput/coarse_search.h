// This search does rounds of local search, and the simulator checks each answer.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_SEARCH_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_SEARCH_H_

#include <cstdint>

#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/throughput/load_search.h"

namespace graphrun::placement {

/// Anneals coarse nodes from `start` in rounds, which get longer and longer, until `bound`, the
/// problem's budget or, without one, so many `moves` are reached; small graphs make do with fewer.
/// Nothing is taken that is no answer in the simulator. Returns `start` where it finds nothing
/// better, and where a coarse node is on several devices in it.
absl::StatusOr<PlacementResult> improveCoarse(const PlacementProblem& problem,
                                              const CoarseGraph& coarse, bool staged,
                                              SearchGoal& goal, int64_t bound, int64_t moves,
                                              const PlacementResult& start, const char* strategy);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_COARSE_SEARCH_H_
