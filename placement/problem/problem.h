// One placement problem: what every strategy, check and report is given.
#ifndef GRAPHRUN_PLACEMENT_PROBLEM_PROBLEM_H_
#define GRAPHRUN_PLACEMENT_PROBLEM_PROBLEM_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/problem/search_limit.h"
#include "placement/rules/constraints.h"
#include "placement/simulator/simulator.h"
#include "runtime/base/objective.h"

namespace graphrun::placement {

/// Limit of a device for which none is given.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

using runtime::Objective;

/// "latency", "throughput".
absl::string_view objectiveName(Objective objective);

/// Graph, cluster, resolved constraints, limits and the evaluator. Graph and cluster must outlive
/// it. Copy it and change `limits` to ask "what if".
struct PlacementProblem {
  Simulator simulator;
  Constraints constraints;
  std::vector<int64_t> limits;  // bytes by device, kUnlimited without one
  Objective objective = Objective::kLatency;
  /// True when no path may leave a device and come back to it, backward nodes aside.
  bool contiguous = false;
  SearchOptions search;
  /// The share that executables may need beside weights and tensors: advice on memory adds it.
  double memoryMargin = 0;

  /// InvalidArgument if the graph was not finished for this cluster's devices, or one that shares
  /// cores, or any where nodes share work, has several lanes or is one call, or is one call where
  /// steps take something to start or nodes share weights; FailedPrecondition for conflicting
  /// constraints (see resolveConstraints).
  static absl::StatusOr<PlacementProblem> create(const CostGraph& graph, const Cluster& cluster,
                                                 SimulatorOptions options = {});

  const CostGraph& graph() const { return simulator.graph(); }
  const Cluster& cluster() const { return simulator.cluster(); }
  int deviceCount() const { return static_cast<int>(limits.size()); }

  /// Memory to give to a device that needs `bytes`.
  int64_t withMargin(int64_t bytes) const {
    return bytes + static_cast<int64_t>(memoryMargin * static_cast<double>(bytes));
  }

  /// Returns the objective of the placement of this simulation, ns.
  int64_t objectiveNs(const Simulation& simulation) const {
    return objective == Objective::kLatency ? simulation.latencyNs() : simulation.periodNs;
  }
};

/// Returns whether transfers of the graph's tensors take no time, to and from the client neither.
bool transfersAreFree(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PROBLEM_PROBLEM_H_
