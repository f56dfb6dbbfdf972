// Networks that nobody uses, made to be measured: what they take says what others will.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_CALIBRATION_SET_H_
#define GRAPHRUN_PLACEMENT_PLANNER_CALIBRATION_SET_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace graphrun::compiler {

/// Writes network number `number` of the calibration set as model.fb to `path` and returns its
/// name; NotFound behind the last. All but the last are there for devices: operations of all kinds
/// in sizes from the smallest to the largest that models have, in chains, so that they find what
/// they read where they would find it in a model. The last, "links", is a chain whose operations
/// are called left… and right… in turns, with tensors of 64 bytes to 16 MiB between them.
absl::StatusOr<std::string> writeCalibrationModel(size_t number, const std::string& path);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_CALIBRATION_SET_H_
