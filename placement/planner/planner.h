// The planner makes a Plan of a model and a request: it is the coordinator's side of the compile
// world.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_PLANNER_H_
#define GRAPHRUN_PLACEMENT_PLANNER_PLANNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/format/compiler_api_generated.h"
#include "runtime/format/model_file.h"

namespace graphrun::compiler {

/// A plan and why it is as it is, or what has to be known first.
struct Planned {
  /// Inputs whose elements decide shapes; when there are any, there is nothing else.
  std::vector<std::string> neededInputs;
  std::vector<uint8_t> plan;    ///< a Plan (runtime/format/plan.fbs)
  std::string explanationJson;  ///< see placement/explain/explain.h; "" where none was asked for
  /// The remainder, to be planned when the plan has run (passes/cut_stages.h); empty: none.
  std::vector<uint8_t> remainder;
  std::vector<std::string> remainderInputs;
  std::vector<std::string> notes;  ///< for the user, a line each
};

/// Specialises `model`, or the request's remainder of it, to the request's shapes, simplifies and
/// groups it, places it on the cluster and cuts it into partitions. `hash` identifies model and
/// request. InvalidArgument: model, shapes or cluster are wrong (all problems at once);
/// FailedPrecondition: it cannot be placed.
absl::StatusOr<Planned> planModel(const format::ModelFile& model,
                                  const format::PlanRequest& request, uint64_t hash);

/// The cost graph that planModel would place, as text (placement/formats/cost_file.h); "" when
/// there are inputs whose elements decide shapes.
absl::StatusOr<std::string> costsOf(const format::ModelFile& model,
                                    const format::PlanRequest& request);

/// JSON text with the work of one step: see GrCompilerApi::inspect.
absl::StatusOr<std::string> inspectModel(const format::ModelFile& model,
                                         const format::PlanRequest& request);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_PLANNER_H_
