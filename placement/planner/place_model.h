// A model's operations on the devices of a cluster, some of which may be split for it.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_PLACE_MODEL_H_
#define GRAPHRUN_PLACEMENT_PLANNER_PLACE_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "placement/explain/explain.h"
#include "placement/from_ir/build_cost_graph.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/strategies/strategy.h"
#include "runtime/format/compiler_api_generated.h"

namespace graphrun::compiler {

/// A graph on a cluster. Not movable: `problem` refers to the others.
struct Placed {
  placement::Cluster cluster;
  placement::GraphOfOps graph;
  std::unique_ptr<placement::PlacementProblem> problem;
  placement::PlacementResult result;
  std::vector<placement::Candidate> candidates;  ///< see placement::place
  std::vector<placement::SplitReport> splits;
  placement::RecomputeReport recomputed;
  /// The predicted step on split devices by times that were not all measured, ns, where that is
  /// less; 0: nowhere.
  int64_t promisedNs = 0;
};

/// Returns the objective by which the placement is to be judged: where steps wait for each other,
/// many take the least time when each does.
placement::Objective objectiveOf(const format::PlanRequest& request,
                                 const placement::Cluster& cluster);

/// Returns whether the same bits are wanted of every split, so that nothing may depend on what is
/// measured.
bool isDeterministic(const format::PlanRequest& request);

/// Every operation of `function` with its costs on `cluster`, and what the user pins.
absl::Status addCosts(mlir::func::FuncOp function, const format::PlanRequest& request,
                      placement::Cluster cluster, Placed& placed);

/// Places the function as the request says, on the cluster or, where that promises a shorter step,
/// on one whose CPU devices are split (placement/simulator/split_devices.h). For throughput each
/// device gets one piece of the graph, as it goes on with the next step when it is done with that.
/// A step of training that fits nowhere has operations cloned (place_recomputed.h).
/// FailedPrecondition: there is none to split that the request wants split, or it cannot be placed.
absl::StatusOr<std::unique_ptr<Placed>> placeModel(mlir::func::FuncOp function,
                                                   const format::PlanRequest& request,
                                                   const placement::Cluster& cluster);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_PLACE_MODEL_H_
