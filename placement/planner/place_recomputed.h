// A step of training that passes a memory limit keeps to it when some of its values are computed
// again.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_PLACE_RECOMPUTED_H_
#define GRAPHRUN_PLACEMENT_PLANNER_PLACE_RECOMPUTED_H_

#include <memory>

#include "placement/planner/place_model.h"

namespace graphrun::compiler {

/// Returns whether values of the graph may be computed again: whether it updates states.
bool mayRecompute(mlir::func::FuncOp function);

/// Clones operations of `function`, which is grouped, such that the placement `unlimited` of it,
/// made without memory limits, keeps to those of `tried.problem`, and costs and places it anew; the
/// others stay where they are. Where that does not succeed: `why`, the reason why nothing fits, and
/// the memory with which it would.
absl::StatusOr<std::unique_ptr<Placed>> placeRecomputed(mlir::func::FuncOp function,
                                                        const format::PlanRequest& request,
                                                        const Placed& tried,
                                                        const placement::PlacementResult& unlimited,
                                                        const absl::Status& why);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_PLACE_RECOMPUTED_H_
