// States through sessions: what outlives runs, plans and failures, and what graphs share.
#include <unistd.h>

#include <graphrun/graph.h>
#include <graphrun/session.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace graphrun {
namespace {

using Catch::Matchers::Contains;

/// A cache of its own for a test.
class Cache {
 public:
  Cache() { std::filesystem::create_directories(path_); }
  ~Cache() { std::filesystem::remove_all(path_); }

  SessionOptions options() const {
    SessionOptions options;
    options.cacheDirectory = path_;
    return options;
  }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("graphrun_states_" + std::to_string(getpid())))
          .string();
};

template <typename T>
T only(const TensorMap& values, const std::string& name) {
  auto found = values.find(name);
  REQUIRE(found != values.end());
  REQUIRE(found->second.spec().elementCount() == 1);
  return found->second.template as<T>()[0];
}

void requireOk(const absl::Status& status) {
  INFO(status.message());
  REQUIRE(status.ok());
}

std::unique_ptr<Session> open(absl::StatusOr<runtime::MemoryFile> model,
                              const SessionOptions& options) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::create(std::move(model), options);
  requireOk(session.status());
  return *std::move(session);
}

TensorMap run(Session& session, const std::string& graph, const TensorMap& inputs) {
  absl::StatusOr<TensorMap> outputs = session.run(graph, inputs);
  requireOk(outputs.status());
  return *std::move(outputs);
}

/// "count" gives the number of its runs so far, and "peek" the same without counting.
std::vector<Graph> counting() {
  std::vector<Graph> graphs;
  graphs.emplace_back("count");
  Tensor count = graphs[0].state(*HostTensor::from({0.0F}, {}), {"count"});
  Tensor x = graphs[0].input("x", ElementType::kF32, {Dim("N")});
  graphs[0].update(count, count + 1.0);
  graphs[0].output("was", count);
  graphs[0].output("sum", x + count);
  graphs.emplace_back("peek");
  graphs[1].output("is", graphs[1].state(*HostTensor::from({0.0F}, {}), {"count"}) * 1.0);
  return graphs;
}

TEST_CASE("states live from run to run, in all graphs, shapes and tuned plans") {
  Cache cache;
  std::vector<Graph> graphs = counting();
  std::vector<Graph*> all = {&graphs[0], &graphs[1]};
  auto session = open(saveModelToMemory(all), cache.options());
  CHECK(session->graphs() == std::vector<std::string>{"count", "peek"});
  CHECK(only<float>(*session->states(), "count") == 0);
  for (int i = 0; i < 5; ++i) {  // the second run chooses kernels and loads the plan again
    TensorMap x;
    x.emplace("x", *HostTensor::from(std::vector<float>(static_cast<size_t>(1 + i % 3), 10.0F),
                                     {1 + i % 3}));
    TensorMap outputs = run(*session, "count", x);
    CHECK(only<float>(outputs, "was") == static_cast<float>(i));
    CHECK(outputs.at("sum").as<float>()[0] == 10.0F + static_cast<float>(i));
    CHECK(only<float>(run(*session, "peek", {}), "is") == static_cast<float>(i + 1));
  }
  CHECK(only<float>(*session->states(), "count") == 5);
  TensorMap set;
  set.emplace("count", *HostTensor::from({40.0F}, {}));
  requireOk(session->setStates(set));
  CHECK(only<float>(run(*session, "peek", {}), "is") == 40);
}

TEST_CASE("a state that is set before the first run begins so, and a new session begins anew") {
  Cache cache;
  std::vector<Graph> graphs = counting();
  std::vector<Graph*> all = {&graphs[1], &graphs[0]};
  for (int i = 0; i < 2; ++i) {
    auto session = open(saveModelToMemory(all), cache.options());
    CHECK(only<float>(run(*session, "peek", {}), "is") == 0);
  }
  auto session = open(saveModelToMemory(all), cache.options());
  TensorMap set;
  set.emplace("count", *HostTensor::from({7.0F}, {}));
  requireOk(session->setStates(set));
  CHECK(only<float>(*session->run(TensorMap()), "is") == 7);  // the first graph
}

TEST_CASE("the last run is taken back, and only that") {
  Cache cache;
  std::vector<Graph> graphs = counting();
  std::vector<Graph*> all = {&graphs[0], &graphs[1]};
  auto session = open(saveModelToMemory(all), cache.options());
  requireOk(session->revertLastRun());  // there was none
  TensorMap x;
  x.emplace("x", *HostTensor::from({10.0F}, {1}));
  run(*session, "count", x);
  run(*session, "count", x);
  requireOk(session->revertLastRun());
  requireOk(session->revertLastRun());  // it was taken back already
  CHECK(only<float>(run(*session, "peek", {}), "is") == 1);
  requireOk(session->revertLastRun());  // it changed nothing
  CHECK(only<float>(run(*session, "peek", {}), "is") == 1);
  run(*session, "count", x);
  CHECK(only<float>(run(*session, "peek", {}), "is") == 2);
}

TEST_CASE("what first has no finite number is told by its name") {
  Cache cache;
  Graph g("logs");
  Tensor x = g.input("x", ElementType::kF32, {2});
  Tensor scale = g.state(*HostTensor::from({1.0F, 1.0F}, {2}), {"scale"});
  Tensor scaled = mul(x, scale, {"scaled"});
  Tensor y = add(log(scaled, {"a_log"}), 1.0, {"a_sum"});
  g.update(scale, y);
  g.output("y", exp(y, {"end"}));
  auto session = open(g.saveToMemory(), cache.options());
  auto first = [&](float a, float b) {
    TensorMap inputs;
    inputs.emplace("x", *HostTensor::from({a, b}, {2}));
    absl::StatusOr<std::string> found = session->firstNotFinite("", inputs);
    requireOk(found.status());
    return *found;
  };
  CHECK(first(1, 2).empty());
  CHECK(first(1, -2) == "'a_log'");
  CHECK(first(3e38F, 1).empty());
  CHECK(first(1, 0) == "'a_log'");  // minus infinity
  CHECK(first(INFINITY, 1) == "input 'x'");
  CHECK(session->states()->at("scale").as<float>()[1] == 1);  // nothing was changed
  TensorMap set;
  set.emplace("scale", *HostTensor::from({1.0F, NAN}, {2}));
  requireOk(session->setStates(set));
  CHECK(first(1, 1) == "state 'scale'");
}

TEST_CASE("a state sees its old value everywhere in a step: two change places") {
  Cache cache;
  Graph g("swap");
  Tensor a = g.state(*HostTensor::from({1.0F, 2.0F}, {2}), {"a"});
  Tensor b = g.state(*HostTensor::from({3.0F, 4.0F}, {2}), {"b"});
  g.update(a, b);
  g.update(b, a);
  Tensor sum = a + b * 10.0;
  g.output("sum", sum);
  g.output("a", a);
  auto session = open(g.saveToMemory(), cache.options());
  for (int i = 0; i < 4; ++i) {
    TensorMap outputs = *session->run(TensorMap());
    CHECK(outputs.at("sum").as<float>()[1] == (i % 2 == 0 ? 42.0F : 24.0F));
    CHECK(outputs.at("a").as<float>()[0] == (i % 2 == 0 ? 1.0F : 3.0F));
  }
}

TEST_CASE("one value may be the next of several states, an input, a constant and an output") {
  Cache cache;
  Graph g("copies");
  Tensor x = g.input("x", ElementType::kF32, {3});
  std::vector<Tensor> states;
  for (const char* name : {"a", "b", "c", "d"}) {
    states.push_back(g.state({3}, init::zeros(), ElementType::kF32, {name}));
  }
  Tensor y = x * 2.0;
  g.update(states[0], y);
  g.update(states[1], y);
  g.update(states[2], x);
  g.update(states[3], g.constant({7.0F, 8.0F, 9.0F}, {3}));
  g.output("y", y);
  auto session = open(g.saveToMemory(), cache.options());
  TensorMap inputs;
  inputs.emplace("x", *HostTensor::from({1.0F, 2.0F, 3.0F}, {3}));
  CHECK(run(*session, "", inputs).at("y").as<float>()[2] == 6);
  TensorMap after = *session->states();
  CHECK(after.at("a").as<float>()[2] == 6);
  CHECK(after.at("b").as<float>()[1] == 4);
  CHECK(after.at("c").as<float>()[0] == 1);
  CHECK(after.at("d").as<float>()[2] == 9);
}

TEST_CASE("a step that fails leaves all states as they were, on all devices") {
  Cache cache;
  SessionOptions options = cache.options();
  SECTION("of one device") {}
  SECTION("of two, of which one fails") {
    options.split = 2;
    options.threads = 2;
    options.pins = {{"count*", "local/cpu:0/0"}, {"pick", "local/cpu:0/1"}};
  }
  Graph g("failing");
  Tensor count = g.state(*HostTensor::from({0.0F}, {}), {"count"});
  Tensor last = g.state(*HostTensor::from({0.0F}, {1}), {"last"});
  Tensor index = g.input("index", ElementType::kI64, {1});
  g.update(count, count + 1.0);
  Tensor picked = gather(g.constant({5.0F, 6.0F}, {2}), index, 0, {"pick"});
  g.update(last, picked);
  g.output("picked", picked);
  auto session = open(g.saveToMemory(), options);
  auto runWith = [&](int64_t at) {
    TensorMap inputs;
    inputs.emplace("index", *HostTensor::from({at}, {1}));
    return session->run(inputs);
  };
  requireOk(runWith(1).status());
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(runWith(9).ok());
    TensorMap states = *session->states();
    CHECK(only<float>(states, "count") == 1);
    CHECK(only<float>(states, "last") == 6);
  }
  requireOk(runWith(0).status());
  CHECK(only<float>(*session->states(), "count") == 2);
}

TEST_CASE("gradient descent finds the line that made the points") {
  Cache cache;
  Graph g("line", Mode::kTraining);
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), 1});
  Tensor y = g.input("y", ElementType::kF32, {Dim("N"), 1});
  Tensor difference = layers::dense(x, 1, {.weights = init::zeros()}, {"line"}) - y;
  Tensor loss = reduce(difference * difference, Reduction::kMean, {.keepdims = false});
  std::vector<Tensor> parameters = g.parameters();
  REQUIRE(parameters.size() == 2);
  std::vector<Tensor> slopes = gradients(loss, parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    g.update(parameters[i], parameters[i] - slopes[i] * 0.5);
  }
  g.output("loss", loss);
  auto session = open(g.saveToMemory(), cache.options());
  std::vector<float> xs, ys;
  for (int i = 0; i < 16; ++i) {
    xs.push_back(static_cast<float>(i) / 8 - 1);
    ys.push_back(3 * xs.back() - 2);
  }
  TensorMap inputs;
  inputs.emplace("x", *HostTensor::from(xs, {16, 1}));
  inputs.emplace("y", *HostTensor::from(ys, {16, 1}));
  float last = 1e9F;
  for (int i = 0; i < 60; ++i) {
    const float loss = only<float>(run(*session, "", inputs), "loss");
    CHECK(loss <= last);
    last = loss;
  }
  CHECK(last < 1e-6F);
  TensorMap trained = *session->states();
  CHECK(only<float>(trained, "line/weight") == Approx(3).margin(1e-3));
  CHECK(only<float>(trained, "line/bias") == Approx(-2).margin(1e-3));
}

TEST_CASE(
    "a graph that trains normalises by the batch and moves its statistics, one that evaluates "
    "reads them") {
  Cache cache;
  auto build = [](const char* name, Mode mode) {
    Graph g(name, mode);
    Tensor x = g.input("x", ElementType::kF32, {4, 1});
    g.output("y", layers::batchNorm(x, {.epsilon = 0, .momentum = 0.5}, {"norm"}));
    return g;
  };
  Graph train = build("train", Mode::kTraining);
  Graph eval = build("eval", Mode::kEvaluation);
  CHECK(train.parameters().size() == 2);
  auto session = open(saveModelToMemory(std::vector<Graph*>{&train, &eval}), cache.options());
  TensorMap inputs;
  inputs.emplace("x", *HostTensor::from({0.0F, 4.0F, 0.0F, 4.0F}, {4, 1}));  // mean 2, variance 4
  CHECK(run(*session, "train", inputs).at("y").as<float>()[1] == Approx(1));
  TensorMap states = *session->states();
  CHECK(only<float>(states, "norm/mean") == Approx(1));
  CHECK(only<float>(states, "norm/variance") == Approx(2.5));
  CHECK(run(*session, "eval", inputs).at("y").as<float>()[1] == Approx(3 / std::sqrt(2.5)));
}

TEST_CASE("a graph that trains drops out, others in each step; one that evaluates does not") {
  Cache cache;
  auto build = [](const char* name, Mode mode) {
    Graph g(name, mode);
    Tensor x = g.input("x", ElementType::kF32, {Dim("N"), 100});
    g.output("y", layers::dropout(x, 0.2, 1, {"drop"}) * 1.0);
    g.output("other", layers::dropout(x, 0.2, 1) * 1.0);
    return g;
  };
  Graph train = build("train", Mode::kTraining);
  Graph eval = build("eval", Mode::kEvaluation);
  auto session = open(saveModelToMemory(std::vector<Graph*>{&train, &eval}), cache.options());
  TensorMap inputs;
  inputs.emplace("x", *HostTensor::from(std::vector<float>(2000, 4.0F), {20, 100}));
  auto numbers = [&](const char* graph, const char* output) {
    TensorMap outputs = run(*session, graph, inputs);
    const auto y = outputs.at(output).as<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  CHECK(numbers("eval", "y") == std::vector<float>(2000, 4.0F));
  const std::vector<float> first = numbers("train", "y");
  const auto dropped = std::count(first.begin(), first.end(), 0.0F);
  CHECK(dropped > 320);  // 400 +- 4.5 standard deviations
  CHECK(dropped < 480);
  CHECK(std::count(first.begin(), first.end(), 5.0F) == 2000 - dropped);
  CHECK(only<int64_t>(*session->states(), "drop/step") == 1);
  CHECK(numbers("train", "y") != first);
  // From the same step on it is the same again, and a layer of another name is another.
  TensorMap begin;
  begin.emplace("drop/step", *HostTensor::from({int64_t{0}}, {}));
  begin.emplace("dropout_0/step", *HostTensor::from({int64_t{0}}, {}));
  requireOk(session->setStates(begin));
  CHECK(numbers("train", "y") == first);
  requireOk(session->setStates(begin));
  CHECK(numbers("train", "other") != first);
}

TEST_CASE("a graph is saved with the values that another session left") {
  Cache cache;
  auto build = [](Mode mode) {
    Graph g("model", mode);
    Tensor x = g.input("x", ElementType::kF32, {1, 40});
    g.output("y", layers::dense(x, 40, {.weights = init::ones()}, {"head"}));
    return g;
  };
  Graph first = build(Mode::kTraining);
  auto session = open(first.saveToMemory(), cache.options());
  TensorMap set;
  set.emplace("head/weight", *HostTensor::from(std::vector<float>(1600, 0.5F), {40, 40}));
  set.emplace("head/bias", *HostTensor::from(std::vector<float>(40, 7.0F), {40}));
  requireOk(session->setStates(set));
  Graph second = build(Mode::kEvaluation);
  TensorMap values = *session->states();
  values.emplace("optimizer/step", *HostTensor::from({int64_t{3}}, {}));  // which it does not have
  second.setFirstValues(values);
  values.clear();  // they were copied
  auto trained = open(second.saveToMemory(), cache.options());
  TensorMap inputs;
  inputs.emplace("x", *HostTensor::from(std::vector<float>(40, 1.0F), {1, 40}));
  CHECK(run(*trained, "", inputs).at("y").as<float>()[39] == 27);

  values.emplace("head/bias", *HostTensor::from({1.0F}, {1}));
  second.setFirstValues(values);
  CHECK_THAT(std::string(second.status().message()),
             Contains("states_run_test.cpp") &&
                 Contains("state 'head/bias': is of 40xf32, got the first value 1xf32"));
}

TEST_CASE("misuse of states is told") {
  Cache cache;
  Graph g("bad");
  Tensor a = g.state({2}, init::zeros(), ElementType::kF32, {"a"});
  Tensor x = g.input("x", ElementType::kF32, {3});
  g.update(a, x);
  g.update(x, x);
  g.update(a, a * 2.0);
  g.update(a, a * 3.0);
  g.output("y", x);
  const std::string problems(g.status().message());
  CHECK_THAT(problems, Contains("update of 'a': is 3xf32, expected the type of the state, 2xf32"));
  CHECK_THAT(problems, Contains("expected a state of this graph"));
  CHECK_THAT(problems, Contains("is its second one"));

  std::vector<Graph> graphs = counting();
  Graph other("other");
  other.output("is", other.state(*HostTensor::from({1.0F}, {}), {"count"}) * 1.0);
  CHECK_THAT(
      std::string(saveModelToMemory(std::vector<Graph*>{&graphs[0], &other}).status().message()),
      Contains("state 'count' has another type or first value in graph 'other'"));
  CHECK_THAT(std::string(
                 saveModelToMemory(std::vector<Graph*>{&graphs[0], &graphs[0]}).status().message()),
             Contains("two graphs of the model are called 'count'"));

  auto session = open(graphs[1].saveToMemory(), cache.options());
  CHECK_THAT(std::string(session->run("nope", TensorMap()).status().message()),
             Contains("has no graph 'nope'"));
  TensorMap set;
  set.emplace("count", *HostTensor::from({1.0F, 2.0F}, {2}));
  set.emplace("cuont", *HostTensor::from({1.0F}, {}));
  const std::string refused(session->setStates(set).message());
  CHECK_THAT(refused, Contains("state 'count' is of f32, got 2xf32"));
  CHECK_THAT(refused, Contains("the model has no state 'cuont'"));
  CHECK(only<float>(*session->states(), "count") == 0);
}

}  // namespace
}  // namespace graphrun
