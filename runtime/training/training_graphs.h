// Both worlds know a model that trains by these names.
#ifndef GRAPHRUN_RUNTIME_TRAINING_TRAINING_GRAPHS_H_
#define GRAPHRUN_RUNTIME_TRAINING_TRAINING_GRAPHS_H_

namespace graphrun::runtime {

/// The graphs of a model that trains: one step, and an evaluation.
inline constexpr char kStepGraph[] = "step";
inline constexpr char kEvalGraph[] = "eval";
/// Their input beside those of the model, and their output: the mean over the batch, an f64.
inline constexpr char kTargetInput[] = "target";
inline constexpr char kLossOutput[] = "loss";
/// A metric's counts in a batch are outputs: its name with these behind.
inline constexpr char kRightSuffix[] = ".right";
inline constexpr char kTotalSuffix[] = ".total";

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRAINING_TRAINING_GRAPHS_H_
