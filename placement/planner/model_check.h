// A model is checked, and whether it could be trained.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_MODEL_CHECK_H_
#define GRAPHRUN_PLACEMENT_PLANNER_MODEL_CHECK_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphrun::compiler {

/// Answers GrCompilerApi::checkModel.
absl::StatusOr<std::string> checkModel(const std::string& path,
                                       absl::Span<const char* const> shapes, bool training);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_MODEL_CHECK_H_
