// Nodes that run again, so that what they make needs no memory in between: how a step of training
// keeps to a limit that it would pass.
#ifndef GRAPHRUN_PLACEMENT_RECOMPUTE_RECOMPUTE_H_
#define GRAPHRUN_PLACEMENT_RECOMPUTE_RECOMPUTE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// A step in which nodes run again.
struct RecomputedStep {
  /// All nodes in the order of their ranks; one that runs again stands there again.
  std::vector<int> order;
  int64_t repeats = 0;  ///< nodes that run again
  int64_t extraNs = 0;  ///< what these take
};

/// Finds nodes to run again such that no device of `placed` needs more than its limit in `problem`,
/// at little time: it looks at where the most memory is in use, and again where it then is. Of the
/// tensors that lie there unused, the one leaves memory that frees most of what is too much, bytes
/// by time, for each ns that making it again takes. Making it again may take others to be made
/// again, or to stay longer. Where no single tensor helps, all but about √n of the n that lie there
/// leave at once (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016). Last,
/// repetitions that are not needed are taken back. Every step is judged by the memory that results.
/// `mayRepeat`, by node: whether it gives the same when it runs again. ResourceExhausted: nothing
/// that was tried fits. InvalidArgument: a device runs several nodes at a time. Deterministic.
absl::StatusOr<RecomputedStep> recompute(const PlacementProblem& problem,
                                         const PlacementResult& placed,
                                         const std::vector<bool>& mayRepeat);

/// The smallest limit of each device with which `recompute` succeeds, bytes, as far as it was
/// found: each is proved by a step that keeps to it.
std::vector<int64_t> leastBytes(const PlacementProblem& problem, const PlacementResult& placed,
                                const std::vector<bool>& mayRepeat);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_RECOMPUTE_RECOMPUTE_H_
