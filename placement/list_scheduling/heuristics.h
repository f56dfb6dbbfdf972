// These heuristics place each node once: they are rows of the table in strategy.h.
#ifndef GRAPHRUN_PLACEMENT_LIST_SCHEDULING_HEURISTICS_H_
#define GRAPHRUN_PLACEMENT_LIST_SCHEDULING_HEURISTICS_H_

#include "absl/status/statusor.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// All nodes on the one device that gives the smallest objective; pinned nodes where they are
/// pinned.
absl::StatusOr<PlacementResult> placeSingle(const PlacementProblem& problem);
/// All that `device` may have there, the rest where it takes the least time.
absl::StatusOr<PlacementResult> placeOn(const PlacementProblem& problem, int device);
/// Places most on the device for which that is best: on a GPU, say, with the rest on a CPU.
absl::StatusOr<PlacementResult> placeMost(const PlacementProblem& problem);
/// Returns whether some device cannot have all: else placeSingle gives the same.
bool isForMost(const PlacementProblem& problem);
/// In program order, each node where it finishes first and fits.
absl::StatusOr<PlacementResult> placeGreedy(const PlacementProblem& problem);
/// Heterogeneous earliest finish time: by upward rank, with insertion, where it finishes first and
/// fits.
absl::StatusOr<PlacementResult> placeHeft(const PlacementProblem& problem);
/// Critical path on a processor; see strategy_lists.cpp for the sources of this and the next.
absl::StatusOr<PlacementResult> placeCpop(const PlacementProblem& problem);
/// Predicted earliest finish time.
absl::StatusOr<PlacementResult> placePeft(const PlacementProblem& problem);
/// Earliest task first, and small communication times: within memory limits.
absl::StatusOr<PlacementResult> placeEtf(const PlacementProblem& problem);
absl::StatusOr<PlacementResult> placeSct(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LIST_SCHEDULING_HEURISTICS_H_
