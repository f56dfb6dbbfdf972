// A TrainingRun is a model that is being trained, as the loop over its data sees it.
#ifndef GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAINING_RUN_H_
#define GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAINING_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/batch_reader.h"
#include "runtime/data/dataset.h"
#include "runtime/session/session.h"
#include "runtime/training/recipe.h"

namespace graphrun::cli {

/// MetricCounts are a metric's counts, which are added up over batches before one is divided by the
/// other.
struct MetricCounts {
  int64_t right = 0;
  int64_t total = 0;
};

struct BatchResult {
  double loss = 0;                    ///< mean over the batch's samples
  std::vector<MetricCounts> metrics;  ///< one for each of Recipe::metrics, in their order
};

/// One thread at a time.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  /// The number of classes that targets may name; nothing where targets are no classes.
  virtual std::optional<int64_t> classes() const = 0;
  /// Trains with a batch. The result is that of the parameters before they change; a step that
  /// fails changes none.
  virtual absl::StatusOr<BatchResult> step(const runtime::Batch& batch) = 0;
  /// Compares with the targets and changes nothing. The last batch of an epoch may be smaller.
  virtual absl::StatusOr<BatchResult> evaluate(const runtime::Batch& batch) = 0;
  /// Writes the model with its parameters as they are; the file appears whole or not at all.
  virtual absl::Status saveModel(const std::string& path) = 0;
};

/// Opens the recipe's model for data like `train`. The options' functions may be called as long as
/// the run lives.
using OpenTrainingRun = std::function<absl::StatusOr<std::unique_ptr<TrainingRun>>(
    const runtime::Recipe& recipe, const runtime::Dataset& train,
    const runtime::SessionOptions& options)>;

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAINING_RUN_H_
