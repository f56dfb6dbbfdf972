// Bare cost graphs are placed without a model, and written for others to place.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_COST_PLANNER_H_
#define GRAPHRUN_PLACEMENT_PLANNER_COST_PLANNER_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/compiler_loader/compiler_api.h"

namespace graphrun::compiler {

/// Reads and places a cost file; the answer is that of GrCompilerApi::placeCosts.
absl::StatusOr<std::string> placeCosts(const GrCosts& costs);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_COST_PLANNER_H_
