// A SavableRun is a model that is trained and then written to a file.
#ifndef GRAPHRUN_FRONTENDS_CLI_TRAIN_SAVABLE_RUN_H_
#define GRAPHRUN_FRONTENDS_CLI_TRAIN_SAVABLE_RUN_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/dataset.h"
#include "runtime/session/session.h"
#include "runtime/training/recipe.h"
#include "runtime/training_loop/training_run.h"

namespace graphrun::cli {

/// One thread at a time.
class SavableRun : public runtime::TrainingRun {
 public:
  /// Writes the model with its parameters as they are; the file appears whole or not at all.
  virtual absl::Status saveModel(const std::string& path) = 0;
};

/// Opens the recipe's model for data like `train`. The options' functions may be called as long as
/// the run lives.
using OpenSavableRun = std::function<absl::StatusOr<std::unique_ptr<SavableRun>>(
    const runtime::Recipe& recipe, const runtime::Dataset& train,
    const runtime::SessionOptions& options)>;

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TRAIN_SAVABLE_RUN_H_
