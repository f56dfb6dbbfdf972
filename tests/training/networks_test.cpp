// Gradients of whole networks, and 100 steps of optimizers, beside what PyTorch computes in f64
// (torch_results.py).
#include "tests/training/networks.h"

#include <graphrun/session.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace graphrun::networks {
namespace {

using Json = nlohmann::json;
using Dims = std::vector<int64_t>;

const Json& results() {
  static const Json kResults = Json::parse(std::ifstream(GRAPHRUN_TORCH_RESULTS));
  return kResults;
}

/// Numbers in [0, 1): SplitMix64 (Steele, Lea, Flood, 2014) from 2^40 * number on.
std::vector<double> stream(uint64_t number, size_t count) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t z = (number << 40U) + (i + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z ^= z >> 31U;
    values[i] = std::ldexp(static_cast<double>(z >> 11U), -53);
  }
  return values;
}

size_t countOf(const Dims& dims) {
  return static_cast<size_t>(
      std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
}

/// Numbers of the stream in [low, high), each of f32's values.
HostTensor numbers(uint64_t number, const Dims& dims, double low, double high, ElementType type) {
  std::vector<double> values = stream(number, countOf(dims));
  std::vector<float> rounded;
  for (double& value : values) {
    rounded.push_back(static_cast<float>(low + (high - low) * value));
    value = rounded.back();
  }
  return type == ElementType::kF64 ? *HostTensor::from(values, dims)
                                   : *HostTensor::from(rounded, dims);
}

HostTensor fed(const Feed& feed, uint64_t number, ElementType type) {
  Dims dims = {results()["batch"]};
  dims.insert(dims.end(), feed.sample.begin(), feed.sample.end());
  if (feed.classes == 0) {
    return numbers(number, dims, -1, 1, type);
  }
  std::vector<int64_t> classes;
  for (double value : stream(number, countOf(dims))) {
    classes.push_back(static_cast<int64_t>(value * static_cast<double>(feed.classes)));
  }
  return *HostTensor::from(classes, dims);
}

double element(const HostTensor& tensor, size_t i) {
  return tensor.spec().type == ElementType::kF64 ? tensor.as<double>()[i] : tensor.as<float>()[i];
}

double normOf(const HostTensor& tensor) {
  double sum = 0;
  for (size_t i = 0; i < countOf(tensor.spec().dims); ++i) {
    sum += element(tensor, i) * element(tensor, i);
  }
  return std::sqrt(sum);
}

void requireOk(const absl::Status& status) {
  INFO(status.message());
  REQUIRE(status.ok());
}

/// A session of the graph, whose parameters have the first values that the results began with.
std::unique_ptr<Session> sessionOf(Graph& g, const Json& parameters, ElementType type) {
  requireOk(g.status());
  SessionOptions options;
  options.threads = 1;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::create(g, options);
  requireOk(session.status());
  TensorMap first;
  REQUIRE(g.parameters().size() == parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Json& range = parameters[i];
    first.emplace(g.parameters()[i].name(),
                  numbers(100 + i, range["dims"], range["low"], range["high"], type));
  }
  requireOk((*session)->setStates(first));
  return *std::move(session);
}

TensorMap run(Session& session, const Network& network, uint64_t batch, ElementType type) {
  TensorMap inputs;
  inputs.emplace("x", fed(network.x, 2 * batch, type));
  inputs.emplace("target", fed(network.target, 2 * batch + 1, type));
  absl::StatusOr<TensorMap> outputs = session.run(inputs);
  requireOk(outputs.status());
  return *std::move(outputs);
}

/// Compares a gradient with its summary. `largest` is the largest element of all gradients: where
/// one is nothing but rounding, it is held to that.
void compareGradient(const HostTensor& ours, const Json& theirs, double largest, double bound) {
  const double scale = std::max(theirs["largest"].get<double>(), 1e-2 * largest);
  const double root = std::sqrt(static_cast<double>(ours.spec().elementCount()));
  CHECK(std::abs(normOf(ours) - theirs["norm"].get<double>()) <= bound * scale * root);
  for (const Json& sample : theirs["samples"]) {
    INFO("element " << sample[0]);
    CHECK(std::abs(element(ours, sample[0]) - sample[1].get<double>()) <= bound * scale);
  }
}

void checkGradients(const std::string& name, ElementType type, double bound) {
  INFO(name);
  const Json& expected = results()["networks"][name];
  const Network network = all(Size::kSmall).at(name);
  Graph g(name, Mode::kTraining);
  std::vector<Objective> objectives =
      network.objectives(taskOf(network, g, results()["batch"], type));
  REQUIRE(objectives.size() == expected["objectives"].size());
  for (size_t k = 0; k < objectives.size(); ++k) {
    g.output("loss" + std::to_string(k), objectives[k].loss);
    std::vector<Tensor> trained = g.parameters(objectives[k].scope);
    std::vector<Tensor> slopes = gradients(objectives[k].loss, trained);
    for (size_t i = 0; i < trained.size(); ++i) {
      g.output(std::to_string(k) + ":" + trained[i].name(), slopes[i]);
    }
  }
  std::unique_ptr<Session> session = sessionOf(g, expected["parameters"], type);
  TensorMap outputs = run(*session, network, 0, type);
  for (size_t k = 0; k < objectives.size(); ++k) {
    const Json& theirs = expected["objectives"][k];
    const double loss = element(outputs.at("loss" + std::to_string(k)), 0);
    CHECK(loss == Approx(theirs["loss"].get<double>()).epsilon(bound));
    double largest = 0;
    for (const Json& gradient : theirs["gradients"]) {
      largest = std::max(largest, gradient["largest"].get<double>());
    }
    std::vector<Tensor> trained = g.parameters(objectives[k].scope);
    REQUIRE(trained.size() == theirs["gradients"].size());
    for (size_t i = 0; i < trained.size(); ++i) {
      INFO(trained[i].name());
      compareGradient(outputs.at(std::to_string(k) + ":" + trained[i].name()),
                      theirs["gradients"][i], largest, bound);
    }
  }
}

TEST_CASE("gradients of whole networks are PyTorch's: in f64, by the reference kernels") {
  for (const auto& [name, network] : all(Size::kSmall)) {
    checkGradients(name, ElementType::kF64, 1e-9);
  }
}

TEST_CASE("gradients of whole networks are PyTorch's: in f32, by the fast kernels") {
  for (const auto& [name, network] : all(Size::kSmall)) {
    checkGradients(name, ElementType::kF32, 1e-5);
  }
}

TEST_CASE("every network that PyTorch's results have is compared") {
  for (const auto& [name, expected] : results()["networks"].items()) {
    INFO(name);
    CHECK(all(Size::kSmall).count(name) == 1);
  }
  CHECK(results()["networks"].size() == all(Size::kSmall).size());
}

void optimize(const Json& curve, const Objective& objective, const Graph& g) {
  const std::string optimizer = curve["optimizer"];
  const double rate = curve["lr"];
  if (optimizer == "adam") {
    optimizers::adam(objective.loss, g.parameters(objective.scope),
                     {.learningRate = rate, .epsilon = curve["eps"]});
  } else {
    optimizers::sgd(objective.loss, g.parameters(objective.scope),
                    {.learningRate = rate, .momentum = curve.value("momentum", 0.0)});
  }
}

/// Runs the steps of a curve; each loss is within `bound` of PyTorch's, relative.
void checkCurve(const Json& curve, ElementType type, double bound) {
  const std::string name = curve["network"];
  INFO(name << " " << curve["optimizer"]);
  const Network network = all(Size::kSmall).at(name);
  Graph g(name, Mode::kTraining);
  Objective objective = network.objectives(taskOf(network, g, results()["batch"], type)).at(0);
  optimize(curve, objective, g);
  g.output("loss", objective.loss);
  std::unique_ptr<Session> session = sessionOf(g, results()["networks"][name]["parameters"], type);
  REQUIRE(curve["losses"].size() == 100);
  for (size_t step = 0; step < curve["losses"].size(); ++step) {
    INFO("step " << step + 1);
    TensorMap outputs = run(*session, network, step % curve["batches"].get<size_t>(), type);
    REQUIRE(element(outputs.at("loss"), 0) ==
            Approx(curve["losses"][step].get<double>()).epsilon(bound));
  }
}

TEST_CASE("the losses of 100 steps are PyTorch's: in f64") {
  for (const Json& curve : results()["curves"]) {
    checkCurve(curve, ElementType::kF64, 1e-9);
  }
}

TEST_CASE("the losses of 100 steps are PyTorch's: in f32") {
  for (const Json& curve : results()["curves"]) {
    // 100 steps of LeNet decide some 10^7 times whether a number is positive; a few of the numbers
    // are zero but for rounding, and Adam makes more of what follows than the others.
    checkCurve(curve, ElementType::kF32, curve["network"] == "lenet" ? 1e-3 : 1e-4);
  }
}

}  // namespace
}  // namespace graphrun::networks
