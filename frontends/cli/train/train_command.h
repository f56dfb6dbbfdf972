// The command `graphrun train RECIPE.yaml`.
#ifndef GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAIN_COMMAND_H_
#define GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAIN_COMMAND_H_

#include <functional>
#include <string>

#include "frontends/cli/train/training_run.h"

namespace graphrun::cli {

/// Parses the command's arguments (argv[0] is its name), trains the model that `open` opens, gives
/// each line of JSON to `print` (with its end), and writes the model where --output says. `print`
/// returns false where nobody takes lines any more. Returns an ExitCode: kInterrupted after a
/// signal, with the model written, and kDiffers for a loss that is no number with --stop-on-nan,
/// without.
int trainWith(const OpenTrainingRun& open, const std::function<bool(const std::string&)>& print,
              int argc, char** argv);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAIN_COMMAND_H_
