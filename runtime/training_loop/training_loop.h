// The training loop takes a model through its data: steps, epochs, evaluations. Public.
#ifndef GRAPHRUN_RUNTIME_TRAINING_LOOP_TRAINING_LOOP_H_
#define GRAPHRUN_RUNTIME_TRAINING_LOOP_TRAINING_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/dataset.h"
#include "runtime/training_loop/training_run.h"

namespace graphrun::runtime {

/// MetricValue is a metric's quotient over all samples that were counted.
struct MetricValue {
  std::string name;
  double value = 0;
};

/// StepReport tells what a step found before it changed the parameters.
struct StepReport {
  int64_t step = 0;   ///< from 1
  int64_t epoch = 0;  ///< from 1
  double loss = 0;    ///< mean over the batch
  std::vector<MetricValue> metrics;
  int64_t nanos = 0;            ///< of the step
  double samplesPerSecond = 0;  ///< with the wait for its batch
};

/// Evaluation compares a model with all samples of a dataset.
struct Evaluation {
  double loss = 0;  ///< mean over the samples
  std::vector<MetricValue> metrics;
  int64_t samples = 0;
};

/// EvaluationReport tells of an evaluation within a training.
struct EvaluationReport {
  int64_t step = 0;   ///< the last one before it
  int64_t epoch = 0;  ///< of that step, from 1
  Evaluation evaluation;
};

/// FitOptions say how long a model is trained, with which batches, and who is told. The functions
/// are called on the thread of the loop; they may read the session's states and set them.
struct FitOptions {
  int64_t batch = 32;       ///< samples of a step; an epoch's smaller last batch is left out
  int64_t epochs = 1;       ///< each has all samples once
  int64_t steps = 0;        ///< above 0: so many, in place of the epochs
  bool shuffles = true;     ///< each epoch has its own order
  uint64_t seed = 0;        ///< of these orders
  bool stopsOnNan = false;  ///< takes a step back whose loss is no finite number, and ends
  /// Evaluated after each epoch and after the last step, smaller last batch included. Null: never.
  const Dataset* eval = nullptr;
  std::function<void(const StepReport&)> onStep{};
  std::function<void(const EvaluationReport&)> onEvaluation{};
  /// True ends the training; asked before each step and each batch of an evaluation.
  std::function<bool()> shouldStop{};
};

enum class FitEnd {
  kDone,
  kStopped,  ///< by shouldStop; the model is that of the last step
  kNan,      ///< a loss was no finite number; the model is that of the step before
};

struct FitResult {
  FitEnd end = FitEnd::kDone;
  int64_t steps = 0;                       ///< that were made
  double loss = 0;                         ///< of the last one
  std::string notFinite;                   ///< of kNan: what made it, see TrainingRun::revertStep
  std::optional<Evaluation> evaluation{};  ///< the last that was finished
};

/// Trains `run` with `train` as the options say. InvalidArgument for numbers below what they count
/// from, and for a batch larger than the data; else fails as a step, an evaluation or a reader
/// does.
absl::StatusOr<FitResult> runTraining(const Dataset& train, TrainingRun& run,
                                      const FitOptions& options);

/// Compares `run` with all samples of `data`, `batch` at a time.
absl::StatusOr<Evaluation> runEvaluation(const Dataset& data, TrainingRun& run, int64_t batch);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRAINING_LOOP_TRAINING_LOOP_H_
