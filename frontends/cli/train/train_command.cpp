// graphrun train: trains a model as a recipe says.
#include "frontends/cli/train/train_command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/interrupt.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/progress_display.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/atomic_file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/training_loop/training_loop.h"

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
               "Stops at a loss that is no finite number and names what made it, with exit code 1 "
               "and no output");
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

/// A member for the loss, null where it is no number, and one for each metric.
void addValues(double loss, const std::vector<runtime::MetricValue>& metrics, Json& line) {
  line["loss"] = std::isfinite(loss) ? Json(loss) : Json();
  for (const runtime::MetricValue& metric : metrics) {
    line[metric.name] = metric.value;
  }
}

Json lineOf(const runtime::StepReport& report) {
  Json line = {{"step", report.step}, {"epoch", report.epoch}};
  addValues(report.loss, report.metrics, line);
  line["step_ms"] = static_cast<double>(report.nanos) / 1e6;
  line["samples_per_s"] = report.samplesPerSecond;
  return line;
}

Json lineOf(const runtime::EvaluationReport& report) {
  Json values;
  addValues(report.evaluation.loss, report.evaluation.metrics, values);
  values["samples"] = report.evaluation.samples;
  return {{"epoch", report.epoch}, {"step", report.step}, {"eval", values}};
}

runtime::FitOptions fitOptions(const Recipe& recipe) {
  return {.batch = recipe.batch,
          .epochs = recipe.epochs,
          .steps = recipe.steps,
          .shuffles = recipe.train.shuffles,
          .seed = recipe.seed};
}

absl::StatusOr<int> train(const TrainOptions& options, const OpenSavableRun& open,
                          const PrintLine& print) {
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
  GR_ASSIGN_OR_RETURN(std::unique_ptr<SavableRun> run, open(*recipe, *data, session));
  bool isRead = true;
  auto tell = [&](const auto& report) {
    const std::string line =
        lineOf(report).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    isRead = isRead && print(line);
  };
  InterruptWatch watch;
  runtime::FitOptions fit = fitOptions(*recipe);
  fit.stopsOnNan = options.stopsOnNan;
  fit.eval = eval.get();
  fit.onStep = tell;
  fit.onEvaluation = tell;
  fit.shouldStop = [&] { return !isRead || interrupted(); };
  GR_ASSIGN_OR_RETURN(runtime::FitResult result, runtime::runTraining(*data, *run, fit));
  if (result.end == runtime::FitEnd::kNan) {
    runtime::log(
        runtime::LogLevel::kError,
        absl::StrCat("the loss of step ", result.steps, " is no finite number",
                     result.notFinite.empty() ? "" : ": the first one is of ", result.notFinite,
                     "; a smaller learning rate may help. No model is written"));
    return static_cast<int>(kDiffers);
  }
  if (!options.output.empty()) {
    GR_RETURN_IF_ERROR(run->saveModel(options.output));
  }
  return static_cast<int>(result.end == runtime::FitEnd::kStopped ? kInterrupted : kOk);
}

}  // namespace

int trainWith(const OpenSavableRun& open, const PrintLine& print, int argc, char** argv) {
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
