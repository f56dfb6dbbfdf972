// A TrainingRun is a model that is being trained, as the loop over its data sees it. Public.
#ifndef GRAPHRUN_RUNTIME_TRAINING_LOOP_TRAINING_RUN_H_
#define GRAPHRUN_RUNTIME_TRAINING_LOOP_TRAINING_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/batch_reader.h"

namespace graphrun::runtime {

/// MetricCounts are a metric's counts, which are added up over batches before one is divided by the
/// other.
struct MetricCounts {
  std::string name;
  int64_t right = 0;
  int64_t total = 0;
};

struct BatchResult {
  double loss = 0;                    ///< mean over the batch's samples
  std::vector<MetricCounts> metrics;  ///< the same ones, in one order, for every batch
};

/// One thread at a time.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  /// Trains with a batch. The result is that of the parameters before they change; a step that
  /// fails changes none.
  virtual absl::StatusOr<BatchResult> step(const Batch& batch) = 0;
  /// After a step with this batch whose loss is no finite number: makes the model what it was
  /// before, and says what made the number: "state 'fc1/weight'", or an operation's name in quotes;
  /// "" if that is not known.
  virtual absl::StatusOr<std::string> revertStep(const Batch& batch) = 0;
  /// Compares with the targets and changes nothing. The last batch of an epoch may be smaller.
  virtual absl::StatusOr<BatchResult> evaluate(const Batch& batch) = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRAINING_LOOP_TRAINING_RUN_H_
