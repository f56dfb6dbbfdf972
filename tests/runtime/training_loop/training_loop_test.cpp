// The loop over training data, with a model that only counts.
#include "runtime/training_loop/training_loop.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/session/session.h"
#include "runtime/training_loop/session_run.h"

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;

/// Its loss of step n is 1 / n, and of its predictions the first of each batch is right.
class CountingRun : public TrainingRun {
 public:
  absl::StatusOr<BatchResult> step(const Batch& batch) override {
    const auto targets = batch.target.as<int64_t>();
    steps.emplace_back(targets.begin(), targets.end());
    const auto number = static_cast<int64_t>(steps.size());
    return BatchResult{number == nanAt ? NAN : 1.0 / static_cast<double>(number),
                       {{"accuracy", 1, batch.samples}}};
  }
  absl::StatusOr<std::string> revertStep(const Batch&) override {
    ++reverted;
    return "'log'";
  }
  absl::StatusOr<BatchResult> evaluate(const Batch& batch) override {
    evaluated.push_back(batch.samples);
    return BatchResult{static_cast<double>(batch.samples), {{"accuracy", 1, batch.samples}}};
  }

  std::vector<std::vector<int64_t>> steps;  // the targets of each
  std::vector<int64_t> evaluated;           // samples of each batch
  int64_t nanAt = 0;
  int reverted = 0;
};

/// Samples with the targets 0, 1 …
std::unique_ptr<Dataset> samples(int64_t count) {
  std::vector<int64_t> targets;
  for (int64_t i = 0; i < count; ++i) {
    targets.push_back(i);
  }
  std::vector<NamedTensor> inputs;
  inputs.push_back({"x", *HostTensor::from(targets, {count})});
  return *datasetOf(std::move(inputs), *HostTensor::from(targets, {count}));
}

using Targets = std::vector<std::vector<int64_t>>;

TEST_CASE("epochs are steps of whole batches, and evaluations count each sample") {
  const auto train = samples(10);
  const auto eval = samples(5);
  CountingRun run;
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  FitOptions options{.batch = 4, .epochs = 2, .shuffles = false, .eval = eval.get()};
  options.onStep = [&](const StepReport& report) { steps.push_back(report); };
  options.onEvaluation = [&](const EvaluationReport& report) { evaluations.push_back(report); };
  auto result = runTraining(*train, run, options);
  REQUIRE(result.ok());
  CHECK(result->end == FitEnd::kDone);
  CHECK(result->steps == 4);
  CHECK(result->loss == 0.25);
  CHECK(run.steps == Targets{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(run.evaluated == std::vector<int64_t>{4, 1, 4, 1});
  REQUIRE(steps.size() == 4);
  CHECK(steps[2].step == 3);
  CHECK(steps[2].epoch == 2);
  CHECK(steps[1].loss == 0.5);
  CHECK(steps[1].metrics[0].name == "accuracy");
  CHECK(steps[1].metrics[0].value == 0.25);
  CHECK(steps[1].samplesPerSecond > 0);
  REQUIRE(evaluations.size() == 2);
  CHECK(evaluations[1].step == 4);
  CHECK(evaluations[1].epoch == 2);
  // (4 * 4 + 1 * 1) / 5, and 2 right ones of 5.
  REQUIRE(result->evaluation.has_value());
  CHECK(result->evaluation->loss == 3.4);
  CHECK(result->evaluation->metrics[0].value == 0.4);
  CHECK(result->evaluation->samples == 5);
}

TEST_CASE("a last step that ends no epoch is evaluated, too") {
  const auto data = samples(10);
  CountingRun run;
  FitOptions options{.batch = 4, .steps = 3, .eval = data.get()};
  CHECK(runTraining(*data, run, options)->steps == 3);
  CHECK(run.evaluated == std::vector<int64_t>{4, 4, 2, 4, 4, 2});
  CHECK(run.steps[0] != run.steps[2]);  // each epoch is shuffled by itself
  CountingRun again;
  options.eval = nullptr;
  CHECK(runTraining(*data, again, options)->steps == 3);
  CHECK(again.steps == run.steps);
  CHECK(again.evaluated.empty());
}

TEST_CASE("who stops gets no evaluation, and a loss that is no number may end the training") {
  const auto data = samples(8);
  CountingRun run;
  FitOptions options{.batch = 4, .epochs = 3, .eval = data.get()};
  options.shouldStop = [&] { return run.steps.size() == 2; };
  CHECK(runTraining(*data, run, options)->end == FitEnd::kStopped);
  CHECK(run.evaluated.empty());
  options.shouldStop = [] { return true; };
  CHECK(runTraining(*data, run, options)->steps == 0);

  CountingRun diverging;
  diverging.nanAt = 3;
  options.shouldStop = nullptr;
  CHECK(runTraining(*data, diverging, options)->end == FitEnd::kDone);
  CHECK(diverging.steps.size() == 6);
  diverging.steps.clear();
  options.stopsOnNan = true;
  auto result = runTraining(*data, diverging, options);
  CHECK(result->end == FitEnd::kNan);
  CHECK(result->steps == 3);
  CHECK(diverging.reverted == 1);
  CHECK(result->notFinite == "'log'");
}

TEST_CASE("an evaluation alone, and numbers that are none of steps") {
  const auto data = samples(5);
  CountingRun run;
  CHECK(runEvaluation(*data, run, 2)->samples == 5);
  CHECK(run.evaluated == std::vector<int64_t>{2, 2, 1});
  const absl::Status none = runEvaluation(*data, run, 0).status();
  CHECK_THAT(std::string(none.message()), Contains("batch is 0, expected at least 1"));
  CHECK(domainOf(none) == ErrorDomain::kModel);
  CHECK_THAT(std::string(runTraining(*data, run, {.batch = 6}).status().message()),
             Contains("batch is 6, but the data have 5 samples"));
  CHECK_THAT(std::string(runTraining(*data, run, {.batch = 1, .epochs = -1}).status().message()),
             Contains("-1 epochs"));
  CHECK(run.steps.empty());
}

TEST_CASE("a graph's outputs are a loss, and metrics by their names") {
  std::vector<NamedTensor> outputs;
  outputs.push_back({"accuracy.total", *HostTensor::from({int64_t{8}}, {})});
  outputs.push_back({"loss", *HostTensor::from({0.5F}, {})});
  outputs.push_back({"accuracy.right", *HostTensor::from({int64_t{3}}, {})});
  outputs.push_back({"picture.right", *HostTensor::from({1.0F, 2.0F}, {2})});  // no count
  auto result = resultOf("step", outputs);
  REQUIRE(result.ok());
  CHECK(result->loss == 0.5);
  REQUIRE(result->metrics.size() == 1);
  CHECK(result->metrics[0].name == "accuracy");
  CHECK(result->metrics[0].right == 3);
  CHECK(result->metrics[0].total == 8);
  outputs[1].name = "lost";
  CHECK_THAT(std::string(resultOf("step", outputs).status().message()),
             Contains("graph 'step' has no output 'loss' of one f32 or f64"));
}

}  // namespace
}  // namespace graphrun::runtime
