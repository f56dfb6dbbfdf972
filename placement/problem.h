// One placement problem: what every strategy, check and report is given.
#ifndef GRAPHRUN_PLACEMENT_PROBLEM_H_
#define GRAPHRUN_PLACEMENT_PROBLEM_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/constraints.h"
#include "placement/simulator.h"

namespace graphrun::placement {

/// Limit of a device for which none is given.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

/// Graph, cluster, resolved constraints, limits and the evaluator. Graph and cluster must outlive
/// it. Copy it and change `limits` to ask "what if".
struct PlacementProblem {
  Simulator simulator;
  Constraints constraints;
  std::vector<int64_t> limits;  // bytes by device, kUnlimited without one

  /// InvalidArgument if the graph was not finished for this cluster's devices, FailedPrecondition
  /// for conflicting constraints (see resolveConstraints).
  static absl::StatusOr<PlacementProblem> create(const CostGraph& graph, const Cluster& cluster,
                                                 SimulatorOptions options = {});

  const CostGraph& graph() const { return simulator.graph(); }
  const Cluster& cluster() const { return simulator.cluster(); }
  int deviceCount() const { return static_cast<int>(limits.size()); }
};

/// Lower bounds of any placement's step.
struct LowerBounds {
  /// The longest path with each node on its fastest allowed device and free transfers, ns.
  int64_t criticalPathNs = 0;
  /// Every node's smallest time, added up and split over all devices, ns.
  int64_t workNs = 0;

  int64_t ns() const { return criticalPathNs > workNs ? criticalPathNs : workNs; }
};

LowerBounds lowerBounds(const PlacementProblem& problem);

/// The smallest time of `node` on a device its constraints allow, ns.
int64_t fastestNs(const PlacementProblem& problem, int node);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PROBLEM_H_
