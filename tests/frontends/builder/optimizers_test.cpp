// Optimizers: 100 steps beside numbers that Python worked out, and wrong use.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/frontends/builder/step_runner.h"

namespace graphrun::builder {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

const Json& traces() {
  static const Json read = Json::parse(std::ifstream(GRAPHRUN_OPTIMIZER_TRACES));
  return read;
}

/// The values of a list, or of a list of lists.
template <typename T>
HostTensor tensorOf(const Json& list, std::vector<int64_t> dims) {
  std::vector<T> values;
  for (const Json& value : list.flatten()) {
    values.push_back(value.get<T>());
  }
  return *HostTensor::from(values, std::move(dims));
}

void optimize(const Tensor& loss, const std::vector<Tensor>& parameters, const Json& test) {
  const Json& options = test["options"];
  const std::string name = test["optimizer"];
  if (name == "sgd") {
    optimizers::sgd(loss, parameters,
                    {.learningRate = options["lr"],
                     .momentum = options.value("momentum", 0.0),
                     .nesterov = options.value("nesterov", false),
                     .weightDecay = options.value("weight_decay", 0.0)});
    return;
  }
  const std::vector<double> betas = options.value("betas", std::vector<double>{0.9, 0.999});
  const double epsilon = options.value("eps", 1e-8);
  if (name == "adam") {
    optimizers::adam(
        loss, parameters,
        {options["lr"], betas[0], betas[1], epsilon, options.value("weight_decay", 0.0)});
  } else {
    REQUIRE(name == "adamw");
    optimizers::adamW(
        loss, parameters,
        {options["lr"], betas[0], betas[1], epsilon, options.value("weight_decay", 1e-2)});
  }
}

/// The largest distance of parameters from a trace, relative to the largest of them, and of losses,
/// relative to the first.
template <typename T>
double distanceOf(const Json& test) {
  Graph g("model", Mode::kTraining);
  const std::vector<double> first = traces()["first"];
  Tensor x = g.constant(tensorOf<T>(traces()["x"], {4, 3}));
  Tensor target = g.constant(tensorOf<T>(traces()["target"], {4}));
  const std::vector<Tensor> parameters = {
      g.state(tensorOf<T>(std::vector(first.begin(), first.begin() + 3), {3}), "w"),
      g.state(tensorOf<T>(std::vector(first.begin() + 3, first.end()), {}), "b")};
  Tensor loss = losses::meanSquaredError(
      reduce(x * parameters[0], Reduction::kSum, {.axes = {1}, .keepdims = false}) + parameters[1],
      target);
  optimize(loss, parameters, test);
  g.output("loss", loss);
  StepRunner runner(loss);
  const std::vector<double> last = test["trace"].back()["parameters"];
  const double largest = std::abs(*std::max_element(
      last.begin(), last.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  double distance = 0;
  int64_t step = 0;
  for (const Json& expected : test["trace"]) {
    double value = 0;
    while (step < expected["step"]) {
      ++step;
      value = runner.run({})[0].template as<T>()[0];
    }
    const auto near = [&](double found, double wanted, double scale) {
      distance = std::max(distance, std::abs(found - wanted) / scale);
    };
    near(value, expected["loss"], test["trace"][0]["loss"]);
    for (size_t i = 0; i < 3; ++i) {
      near(runner.state("w").template as<T>()[i], expected["parameters"][i], largest);
    }
    near(runner.state("b").template as<T>()[0], expected["parameters"][3], largest);
  }
  return distance;
}

TEST_CASE("100 steps give what the formulas give") {
  for (const Json& test : traces()["cases"]) {
    INFO(test["optimizer"] << " " << test["options"]);
    CHECK(distanceOf<double>(test) < 1e-10);
    CHECK(distanceOf<float>(test) < 3e-6);  // rounded some 100 times by up to 6e-8
  }
}

/// A model of one layer that learns two points.
struct Line {
  Graph g{"line", Mode::kTraining};
  Tensor x = g.input("x", ElementType::kF32, {2, 1});
  Tensor y = layers::dense(x, 1, {}, "line");
  Tensor loss = losses::meanSquaredError(y, g.constant({1.0F, 3.0F}, {2, 1}));
};

TEST_CASE("layers' parameters are trained, and states have names") {
  Line line;
  optimizers::adam(line.loss, line.g.parameters(), {.learningRate = 0.1});
  line.g.output("loss", line.loss);
  StepRunner runner(line.loss);
  std::vector<std::string> names = runner.names();
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{
                     "line/bias", "line/weight", "optimizer/first_moment/line/bias",
                     "optimizer/first_moment/line/weight", "optimizer/second_moment/line/bias",
                     "optimizer/second_moment/line/weight", "optimizer/step"});
  float loss = 0;
  for (int step = 0; step < 1000; ++step) {
    std::vector<HostTensor> inputs;
    inputs.push_back(*HostTensor::from({1.0F, 2.0F}, {2, 1}));
    loss = runner.run(std::move(inputs))[0].as<float>()[0];
  }
  CHECK(loss < 1e-3F);
  CHECK(runner.state("optimizer/step").as<int64_t>()[0] == 1000);
  CHECK(runner.state("line/weight").as<float>()[0] == Approx(2).margin(0.01));
}

TEST_CASE("momentum and decay make no states that are not needed") {
  Line line;
  optimizers::sgd(line.loss, line.g.parameters(), {.learningRate = 0.1}, "descent");
  line.g.output("loss", line.loss);
  CHECK(StepRunner(line.loss).names() == std::vector<std::string>{"line/weight", "line/bias"});
  Line other;
  optimizers::sgd(other.loss, other.g.parameters(), {.momentum = 0.5}, "descent");
  other.g.output("loss", other.loss);
  CHECK(StepRunner(other.loss).names()[2] == "descent/momentum/line/weight");
}

/// The problem that a use of the model has.
std::string problemOf(const std::function<void(Line&)>& use) {
  Line line;
  use(line);
  return std::string(line.g.status().message());
}

TEST_CASE("wrong uses are told") {
  CHECK_THAT(problemOf([](Line& l) { optimizers::sgd(l.y, l.g.parameters()); }),
             Contains("loss is of type") && Contains("expected one element"));
  CHECK_THAT(problemOf([](Line& l) { optimizers::adam(l.loss, {}); }),
             Contains("adam 'optimizer': there are 0 parameters, expected at least 1"));
  CHECK_THAT(problemOf([](Line& l) { optimizers::sgd(l.loss, {l.x}); }),
             Contains("expected a state of this graph"));
  CHECK_THAT(problemOf([](Line& l) {
               optimizers::sgd(l.loss, l.g.parameters());
               optimizers::sgd(l.loss, l.g.parameters());
             }),
             Contains("sgd 'optimizer': has a name that is taken"));
  CHECK_THAT(problemOf([](Line& l) {
               optimizers::sgd(l.loss, l.g.parameters());
               optimizers::sgd(l.loss, l.g.parameters(), {}, "second");
             }),
             Contains("update of 'line/weight': is its second one"));
  CHECK_THAT(
      problemOf([](Line& l) { optimizers::sgd(l.loss, l.g.parameters(), {.learningRate = -1}); }),
      Contains("sgd 'optimizer': learningRate is -1, expected at least 0"));
  CHECK_THAT(
      problemOf([](Line& l) { optimizers::sgd(l.loss, l.g.parameters(), {.nesterov = true}); }),
      Contains("nesterov is set and momentum 0"));
  CHECK_THAT(problemOf([](Line& l) { optimizers::adamW(l.loss, l.g.parameters(), {.beta2 = 1}); }),
             Contains("adamW 'optimizer': beta2 is 1, expected at least 0 and below 1"));
  CHECK_THAT(
      problemOf([](Line& l) { optimizers::adam(l.loss, l.g.parameters(), {.epsilon = NAN}); }),
      Contains("epsilon is nan"));
  Graph inference("inference");
  Tensor loss = inference.input("loss", ElementType::kF32, {});
  optimizers::sgd(loss, {loss});
  CHECK_THAT(std::string(inference.status().message()),
             Contains("graph is not for training, expected one of Mode::kTraining"));
  optimizers::sgd(Tensor(), {});  // nothing to report to
}

}  // namespace
}  // namespace graphrun::builder
