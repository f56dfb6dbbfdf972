// From a function that makes a model to trained weights, through the installed headers.
#include <graphrun/trainer.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace graphrun {
namespace {

using Catch::Matchers::Contains;

/// A folder of its own for a test, with the cache.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }

  SessionOptions options() const {
    SessionOptions options;
    options.cacheDirectory = path_ + "/cache";
    options.numerics = Numerics::kDeterministic;
    return options;
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("graphrun_trainer_" + std::to_string(getpid())))
          .string();
};

template <typename T>
T take(absl::StatusOr<T> result) {
  INFO(result.status().message());
  REQUIRE(result.ok());
  return *std::move(result);
}

/// Points in a square, of class 1 within a circle.
std::unique_ptr<Dataset> circle(int64_t count) {
  std::vector<float> points;
  std::vector<int64_t> classes;
  uint32_t state = 7;
  auto next = [&] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8U) / static_cast<float>(1U << 23U) - 1;
  };
  for (int64_t i = 0; i < count; ++i) {
    const float x = next();
    const float y = next();
    points.insert(points.end(), {x, y});
    classes.push_back(x * x + y * y < 0.5F ? 1 : 0);
  }
  std::vector<NamedTensor> inputs;
  inputs.push_back({"point", *HostTensor::from(points, {count, 2})});
  return *datasetOf(std::move(inputs), *HostTensor::from(classes, {count}));
}

Tensor classifier(Graph& g) {
  Tensor x = g.input("point", ElementType::kF32, {Dim("N"), 2});
  x = relu(layers::dense(x, 16));
  return layers::dense(layers::batchNorm(x), 2);
}

TrainingSpec spec() {
  return {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
          .optimizer = optimizers::Adam{.learningRate = 0.02},
          .metrics = {{"accuracy", metrics::sparseCategoricalAccuracy}},
          .target = TargetSpec{ElementType::kI64, {Dim("N")}}};
}

TensorMap onePoint(float x, float y) {
  TensorMap inputs;
  inputs["point"] = *HostTensor::from({x, y}, {1, 2});
  return inputs;
}

TEST_CASE("a model is fitted, evaluated, asked and saved") {
  Folder folder;
  const auto train = circle(512);
  const auto test = circle(100);
  auto trainer = take(Trainer::create(classifier, spec(), folder.options()));
  const Evaluation before = take(trainer->evaluate(*test));
  CHECK(before.samples == 100);

  std::vector<double> losses;
  FitOptions options{.batch = 32, .epochs = 6, .seed = 3, .eval = test.get()};
  options.onStep = [&](const StepReport& report) { losses.push_back(report.loss); };
  const FitResult result = take(trainer->fit(*train, options));
  CHECK(result.end == FitEnd::kDone);
  CHECK(result.steps == 96);
  REQUIRE(losses.size() == 96);
  CHECK(losses.back() < losses.front() / 2);
  const Evaluation after = take(trainer->evaluate(*test, 64));
  CHECK(after.loss < before.loss / 2);
  REQUIRE(after.metrics.size() == 1);
  CHECK(after.metrics[0].value > 0.9);
  REQUIRE(result.evaluation.has_value());
  CHECK(result.evaluation->loss == Approx(after.loss));

  const HostTensor inside = take(trainer->predict(onePoint(0.1F, 0.1F)));
  CHECK(inside.as<float>()[1] > inside.as<float>()[0]);

  // The file gives what the trainer gives, in a session of its own.
  REQUIRE(trainer->saveModel(folder.file("circle.fb")).ok());
  auto session = take(Session::create(folder.file("circle.fb"), folder.options()));
  TensorMap outputs = take(session->run(onePoint(0.1F, 0.1F)));
  CHECK(outputs.at("output").as<float>()[1] == Approx(inside.as<float>()[1]).epsilon(1e-5));

  // A second trainer takes the same steps; from its states a third goes on as the first does.
  auto again = take(Trainer::create(classifier, spec(), folder.options()));
  std::vector<double> sameLosses;
  options.onStep = [&](const StepReport& report) { sameLosses.push_back(report.loss); };
  take(again->fit(*train, options));
  CHECK(sameLosses == losses);
  auto third = take(Trainer::create(classifier, spec(), folder.options()));
  REQUIRE(third->setStates(take(trainer->states())).ok());
  CHECK(take(third->fit(*train, {.steps = 3})).loss ==
        take(trainer->fit(*train, {.steps = 3})).loss);
}

TEST_CASE("the caller's graphs have a loss each over the same states") {
  Folder folder;
  auto build = [](const std::string& name, float goal) {
    Graph g(name, Mode::kTraining);
    Tensor w = g.parameter({1}, init::constant(1), ElementType::kF32, {"w"});
    g.parameter({1}, init::constant(1), ElementType::kF32, {"other/w"});
    Tensor difference = w - goal;
    Tensor loss = reduce(difference * difference, Reduction::kMean, {.keepdims = false});
    CHECK(g.parameters().size() == 2);
    CHECK(g.parameters("other/").size() == 1);
    optimizers::sgd(loss, {w}, {.learningRate = 0.25}, name + "_sgd");
    g.output("loss", loss);
    return g;
  };
  Graph up = build("up", 3);
  Graph down = build("down", -1);
  const std::vector<Graph*> graphs = {&up, &down};
  auto trainer = take(Trainer::create(graphs, folder.options()));
  CHECK(take(trainer->step("up", {})).loss == 4);    // (1 - 3)^2; w becomes 2
  CHECK(take(trainer->step("down", {})).loss == 9);  // (2 + 1)^2; w becomes 0.5
  CHECK(take(trainer->states()).at("w").as<float>()[0] == 0.5F);

  CHECK_THAT(std::string(trainer->step("sideways", {}).status().message()),
             Contains("has no graph 'sideways'"));
  CHECK_THAT(std::string(trainer->evaluate(*circle(4)).status().message()),
             Contains("has no graph 'eval'"));
  CHECK_THAT(std::string(trainer->saveModel(folder.file("x.fb")).message()),
             Contains("setFirstValues"));
  CHECK_FALSE(std::filesystem::exists(folder.file("x.fb")));

  // The graph that was written takes the trained values along.
  up.setFirstValues(take(trainer->states()));
  auto session = take(Session::create(up, folder.options()));
  CHECK(take(session->run(TensorMap())).at("loss").as<float>()[0] == 6.25F);
}

TEST_CASE("mistakes are told where they were written") {
  Folder folder;
  TrainingSpec wrong = spec();
  wrong.target = std::nullopt;  // f32, as the output
  const absl::Status status = Trainer::create(classifier, wrong, folder.options()).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK_THAT(std::string(status.message()), Contains("graph 'step' has") &&
                                                Contains("trainer_test.cpp") &&
                                                Contains("target is Nx2xf32, expected 1 dim"));

  const absl::Status model =
      Trainer::create([](Graph& g) { return layers::dense(classifier(g), 0); }, spec(),
                      folder.options())
          .status();
  CHECK_THAT(std::string(model.message()),
             Contains("graph 'predict' has 1 problem") && Contains("units is 0"));
  const absl::Status none =
      Trainer::create([](Graph&) { return Tensor(); }, spec(), folder.options()).status();
  CHECK_THAT(std::string(none.message()), Contains("expected a tensor of this graph"));

  auto trainer = take(Trainer::create(classifier, spec(), folder.options()));
  std::vector<NamedTensor> inputs;
  inputs.push_back({"pixel", *HostTensor::from(std::vector<float>(8), {4, 2})});
  const auto misnamed =
      take(datasetOf(std::move(inputs), *HostTensor::from(std::vector<int64_t>(4), {4})));
  CHECK_THAT(std::string(trainer->fit(*misnamed, {.batch = 4}).status().message()),
             Contains("pixel"));
  CHECK_THAT(std::string(trainer->fit(*circle(4), {.batch = 5}).status().message()),
             Contains("batch is 5, but the data have 4 samples"));
}

TEST_CASE("functions of the program are losses, metrics and optimizers") {
  Folder folder;
  auto model = [](Graph& g) {
    return layers::dense(g.input("x", ElementType::kF32, {Dim("N"), 1}), 1,
                         {.weights = init::zeros()}, {"line"});
  };
  const TrainingSpec own = {
      .loss =
          [](const Tensor& y, const Tensor& t) {
            return reduce(abs(y - t), Reduction::kMean, {.keepdims = false});
          },
      .optimizer =
          [](const Tensor& loss, const std::vector<Tensor>& parameters) {
            optimizers::sgd(loss, {parameters[1]}, {.learningRate = 1});  // the bias alone
          },
      .metrics = {{"close", [](const Tensor& y, const Tensor& t) {
                     return metrics::binaryAccuracy(y, cast(t > 0.5, ElementType::kF32));
                   }}}};
  auto trainer = take(Trainer::create(model, own, folder.options()));
  std::vector<NamedTensor> inputs;
  inputs.push_back({"", *HostTensor::from({1.0F, 1.0F}, {2, 1})});  // the one input
  const auto data = take(datasetOf(std::move(inputs), *HostTensor::from({2.0F, 2.0F}, {2, 1})));
  CHECK(take(trainer->fit(*data, {.batch = 2, .epochs = 2})).loss == 1);  // 2, then 1
  const TensorMap states = take(trainer->states());
  CHECK(states.at("line/bias").as<float>()[0] == 2);
  CHECK(states.at("line/weight").as<float>()[0] == 0);
  CHECK(take(trainer->evaluate(*data)).metrics[0].value == 1);
}

}  // namespace
}  // namespace graphrun
