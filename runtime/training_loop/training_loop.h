// The training loop takes a model through its data: steps, epochs, evaluations.
#ifndef GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAINING_LOOP_H_
#define GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAINING_LOOP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cli/run_report.h"
#include "frontends/cli/train/training_run.h"
#include "runtime/data/dataset.h"
#include "runtime/training/recipe.h"

namespace graphrun::cli {

/// LoopOptions say whom the loop tells and asks.
struct LoopOptions {
  /// Gets an object for each step, {"step", "epoch", "loss", a member for each metric, "step_ms",
  /// "samples_per_s"}, and for each evaluation, {"epoch", "step", "eval": {"loss", …, "samples"}}.
  /// Steps and epochs count from 1. A loss that is no number is null. False ends the loop.
  std::function<bool(const Json& line)> tell;
  std::function<bool()> isInterrupted;  ///< asked before each step and each batch of an evaluation
  bool stopsOnNan = false;
};

enum class LoopEnd {
  kDone,
  kInterrupted,  ///< by isInterrupted or tell; the model is that of the last step
  kNan,          ///< a loss was no finite number, and the options say to stop
};

/// Trains for the recipe's steps or epochs, and evaluates with `eval` (null: never) after each
/// epoch and after the last step. InvalidArgument for labels that are no classes of the model, and
/// for a batch larger than the data; else fails as a step, an evaluation or a reader does.
absl::StatusOr<LoopEnd> runTraining(const runtime::Recipe& recipe, const runtime::Dataset& train,
                                    const runtime::Dataset* eval, TrainingRun& run,
                                    const LoopOptions& options);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAINING_LOOP_H_
