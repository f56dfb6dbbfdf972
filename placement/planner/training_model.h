// An ONNX model becomes a model that trains it.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_TRAINING_MODEL_H_
#define GRAPHRUN_PLACEMENT_PLANNER_TRAINING_MODEL_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/base/element_type.h"
#include "runtime/training/recipe.h"

namespace graphrun::compiler {

/// Writes the model that trains the recipe's ONNX file to `outPath`, whole or not at all. Its
/// weights are states, called as the file's initializers are (passes::makeParameters), beside the
/// states of the optimizer. It has two graphs (runtime/training/training_graphs.h): one computes
/// the loss of a batch and updates all states, the other computes the loss as the model infers.
/// Both take the model's inputs and the target, of elements of type `target`.
///
/// Returns warnings, one a line. InvalidArgument holds all problems of the model, or of what the
/// loss reads.
absl::StatusOr<std::string> writeTrainingModel(const runtime::Recipe& recipe,
                                               runtime::ElementType target,
                                               const std::string& outPath);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_TRAINING_MODEL_H_
