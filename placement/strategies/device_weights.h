// Device weights say how much users want devices to be used.
#ifndef GRAPHRUN_PLACEMENT_STRATEGIES_DEVICE_WEIGHTS_H_
#define GRAPHRUN_PLACEMENT_STRATEGIES_DEVICE_WEIGHTS_H_

#include <memory>

#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// A problem as strategies are to see it: on a device of weight w each node takes 1/w of its time.
/// What they find is told with true times.
class WeightedProblem {
 public:
  /// Returns whether some device's weight is not 1.
  static bool applies(const PlacementProblem& problem);

  /// `problem` must outlive it.
  static absl::StatusOr<WeightedProblem> create(const PlacementProblem& problem);

  const PlacementProblem& problem() const { return *weighted_; }
  /// The same placement as it will run. Bounds of weighted times are none of true ones.
  absl::StatusOr<PlacementResult> asItRuns(absl::StatusOr<PlacementResult> result) const;

 private:
  explicit WeightedProblem(const PlacementProblem& problem) : problem_(&problem) {}

  const PlacementProblem* problem_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<CostGraph> graph_;
  std::unique_ptr<PlacementProblem> weighted_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STRATEGIES_DEVICE_WEIGHTS_H_
