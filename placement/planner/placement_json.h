// An explanation (placement/explain/explain.h) as what is written into ONNX files.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_PLACEMENT_JSON_H_
#define GRAPHRUN_PLACEMENT_PLANNER_PLACEMENT_JSON_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontends/onnx/placement_writer.h"

namespace graphrun::compiler {

/// Reads the JSON of an explanation; Internal when it is none.
absl::StatusOr<frontends::NodePlacement> placementFromJson(absl::string_view json);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_PLACEMENT_JSON_H_
