// A session trains: the SavableRun behind `graphrun train`.
#ifndef GRAPHRUN_FRONTENDS_CLI_TRAIN_SESSION_TRAINING_H_
#define GRAPHRUN_FRONTENDS_CLI_TRAIN_SESSION_TRAINING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "frontends/cli/train/savable_run.h"

namespace graphrun::cli {

/// Makes the model that trains the recipe's, in a temporary folder, and opens it; warnings of the
/// import go to standard error. An OpenSavableRun. Errors are marked with their domain.
absl::StatusOr<std::unique_ptr<SavableRun>> openSessionTraining(
    const runtime::Recipe& recipe, const runtime::Dataset& train,
    const runtime::SessionOptions& options);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TRAIN_SESSION_TRAINING_H_
