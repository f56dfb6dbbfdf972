// graphrun train: trains a model as a recipe says.
#include "frontends/cli/train/train_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/interrupt.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/progress_display.h"
#include "frontends/cli/train/training_loop.h"
#include "runtime/base/atomic_file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::Dataset;
using runtime::Recipe;

struct TrainOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string output;
  bool stopsOnNan = false;
  PlaceOptions place;
};

void addOptions(CLI::App& app, TrainOptions& options) {
  app.add_option("RECIPE", options.recipe, "A recipe (YAML): model, data, loss, optimizer …")
      ->required();
  app.add_option("--set", options.overrides,
                 "Sets a value of the recipe before it is checked: optimizer.sgd.lr=0.2")
      ->type_name("PATH=VALUE");
  addOutputFile(app, "--output", options.output, "Writes the trained model, also after Ctrl-C");
  app.add_flag("--stop-on-nan", options.stopsOnNan,
               "Stops at a loss that is no finite number, with exit code 1 and no output");
  options.place.add(app);
}

/// Fails where the output could not be written at the end: training takes hours, this nothing.
absl::Status checkOutput(const std::string& path) {
  if (path == outputPath("-")) {
    return usageError("--output -: standard output has the lines of the steps; name a file");
  }
  return path.empty()
             ? absl::OkStatus()
             : fileError(runtime::annotate(runtime::AtomicFile::create(path).status(), "--output"));
}

absl::StatusOr<std::unique_ptr<Dataset>> openData(const runtime::TrainingData& data,
                                                  const char* what) {
  absl::StatusOr<std::unique_ptr<Dataset>> opened = runtime::openData(data);
  return opened.ok() ? std::move(opened) : fileError(runtime::annotate(opened.status(), what));
}

absl::StatusOr<int> train(const TrainOptions& options, const OpenTrainingRun& open,
                          const std::function<bool(const std::string&)>& print) {
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions session, options.place.toSession());
  absl::StatusOr<Recipe> recipe = runtime::readRecipe(options.recipe, options.overrides);
  if (!recipe.ok()) {
    return fileError(recipe.status());
  }
  GR_RETURN_IF_ERROR(checkOutput(options.output));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, openData(recipe->train, "data.train"));
  std::unique_ptr<Dataset> eval;
  if (const std::optional<runtime::TrainingData>& files = recipe->eval; files.has_value()) {
    GR_ASSIGN_OR_RETURN(eval, openData(*files, "data.eval"));
  }
  ProgressDisplay display;
  session.progress = display.sink();
  GR_ASSIGN_OR_RETURN(std::unique_ptr<TrainingRun> run, open(*recipe, *data, session));
  InterruptWatch watch;
  int64_t steps = 0;
  const LoopOptions loop{
      .tell =
          [&](const Json& line) {
            steps = line["step"];
            return print(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
          },
      .isInterrupted = interrupted,
      .stopsOnNan = options.stopsOnNan};
  GR_ASSIGN_OR_RETURN(LoopEnd end, runTraining(*recipe, *data, eval.get(), *run, loop));
  if (end == LoopEnd::kNan) {
    runtime::log(runtime::LogLevel::kError,
                 absl::StrCat("the loss of step ", steps,
                              " is no finite number; a smaller learning rate may help. No model "
                              "is written"));
    return static_cast<int>(kDiffers);
  }
  if (!options.output.empty()) {
    GR_RETURN_IF_ERROR(run->saveModel(options.output));
  }
  return static_cast<int>(end == LoopEnd::kInterrupted ? kInterrupted : kOk);
}

}  // namespace

int trainWith(const OpenTrainingRun& open, const std::function<bool(const std::string&)>& print,
              int argc, char** argv) {
  CLI::App app("Trains a model as a recipe says; each step and evaluation is a line of JSON.",
               "graphrun train");
  TrainOptions options;
  addOptions(app, options);
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<int> code = train(options, open, print);
    return code.ok() ? *code : report(code.status());
  });
}

}  // namespace graphrun::cli
