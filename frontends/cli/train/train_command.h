// The command `graphrun train RECIPE.yaml`.
#ifndef GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAIN_COMMAND_H_
#define GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAIN_COMMAND_H_

#include <functional>
#include <string>

#include "frontends/cli/train/savable_run.h"

namespace graphrun::cli {

/// Takes a line with its end; false where nobody takes lines any more.
using PrintLine = std::function<bool(const std::string& line)>;

/// Parses the command's arguments (argv[0] is its name), trains the model that `open` opens, gives
/// each line of JSON to `print`, and writes the model where --output says. A step is {"step",
/// "epoch", "loss", a member for each metric, "step_ms", "samples_per_s"}, an evaluation {"epoch",
/// "step", "eval": {"loss", …, "samples"}}; both count from 1, and a loss that is no number is
/// null. Returns an ExitCode: kInterrupted after a signal, with the model written, and kDiffers for
/// a loss that is no number with --stop-on-nan, without.
int trainWith(const OpenSavableRun& open, const PrintLine& print, int argc, char** argv);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TRAIN_TRAIN_COMMAND_H_
