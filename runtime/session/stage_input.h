// The values between the stages of a run, and what they mean to the planner.
#ifndef GRAPHRUN_RUNTIME_SESSION_STAGE_INPUT_H_
#define GRAPHRUN_RUNTIME_SESSION_STAGE_INPUT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"
#include "runtime/session/plan_source.h"
#include "runtime/session/strings.h"

namespace graphrun::runtime {

/// An input of a stage: the caller's tensor, or one that an earlier stage made.
struct StageInput {
  std::string name;
  const HostTensor* tensor = nullptr;
  std::shared_ptr<const HostTensor> owner;  ///< null when the caller owns it
};

/// Shapes alone.
std::vector<PlannedInput> plannedInputs(absl::Span<const NamedSpec> specs);
std::vector<PlannedInput> plannedInputs(absl::Span<const StageInput> given);

/// Returns the signature of the plan that a stage needs: its graph, what is left of that, the
/// shapes of its inputs and the elements of some.
std::string signatureOf(const Stage& stage, absl::Span<const PlannedInput> inputs);

/// Gives the inputs `needed` their elements. The planner asks for no input twice (Internal).
/// InvalidArgument for more elements than plans are kept by.
absl::Status addElements(const std::vector<std::string>& needed,
                         absl::Span<const StageInput> values, std::vector<PlannedInput>& inputs);

/// `values` with numbers in place of strings.
std::vector<StageInput> numbered(absl::Span<const StageInput> values, RunStrings& strings);

/// The inputs of what is left to do, `sources`: values that the plan made (`made`, or `results` of
/// the model), or its own inputs (`values`). Internal when there is no such value.
absl::StatusOr<std::vector<StageInput>> stageInputs(const std::vector<std::string>& sources,
                                                    absl::Span<const StageInput> made,
                                                    absl::Span<const NamedTensor> results,
                                                    absl::Span<const StageInput> values);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_STAGE_INPUT_H_
