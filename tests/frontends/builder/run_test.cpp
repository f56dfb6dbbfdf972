// Graphs of the builder run as they are, through the installed headers; results are numbers that
// were worked out by hand.
#include <unistd.h>

#include <graphrun/graph.h>
#include <graphrun/session.h>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace graphrun {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

/// A cache of its own for all tests, gone at the end of the program.
const std::string& cacheFolder() {
  struct Folder {
    std::string path = (std::filesystem::temp_directory_path() /
                        ("graphrun_builder_run_" + std::to_string(getpid())))
                           .string();
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder kFolder;
  return kFolder.path;
}

SessionOptions options() {
  SessionOptions options;
  options.cacheDirectory = cacheFolder();
  options.threads = 1;
  options.tuneBudget = std::chrono::milliseconds(0);
  return options;
}

std::unique_ptr<Session> open(Graph& g) {
  auto session = Session::create(g, options());
  INFO(session.status().message());
  REQUIRE(session.ok());
  return *std::move(session);
}

template <typename T>
HostTensor tensor(const std::vector<T>& values, std::vector<int64_t> dims) {
  auto made = HostTensor::from(values, std::move(dims));
  REQUIRE(made.ok());
  return *std::move(made);
}

template <typename T>
std::vector<T> valuesOf(const HostTensor& result) {
  auto elements = result.elements<T>();
  INFO(elements.status().message());
  REQUIRE(elements.ok());
  return {elements->begin(), elements->end()};
}

/// Outputs of a graph for its inputs.
TensorMap run(Graph& g, const TensorMap& inputs) {
  auto outputs = open(g)->run(inputs);
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  return *std::move(outputs);
}

/// What a graph of one input "x" and one output makes of `values`.
template <typename Result, typename T, typename Build>
std::vector<Result> resultOf(const std::vector<T>& values, const std::vector<int64_t>& dims,
                             Build build) {
  Graph g("one");
  Tensor x = g.input("x", elementTypeFor<T>(), std::vector<Dim>(dims.begin(), dims.end()));
  g.output("y", build(g, x));
  TensorMap inputs;
  inputs["x"] = tensor(values, dims);
  return valuesOf<Result>(run(g, inputs).at("y"));
}

const Floats kSix = {3, 1, 2, 0, 5, 4};

TEST_CASE("a graph runs without a file, by names") {
  Graph g("sum");
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), 2});
  Tensor y = g.input("y", ElementType::kF32, {2});
  g.output("sum", x + y);
  g.output("product", x * y);
  auto session = open(g);
  TensorMap inputs;
  inputs["x"] = tensor(Floats{1, 2, 3, 4}, {2, 2});
  inputs["y"] = tensor(Floats{10, 100}, {2});
  for (int i = 0; i < 2; ++i) {
    auto outputs = session->run(inputs);
    INFO(outputs.status().message());
    REQUIRE(outputs.ok());
    CHECK(outputs->size() == 2);
    CHECK(valuesOf<float>(outputs->at("sum")) == Floats{11, 102, 13, 104});
    CHECK(valuesOf<float>(outputs->at("product")) == Floats{10, 200, 30, 400});
  }
  inputs.erase("y");
  auto failed = session->run(inputs);
  CHECK(domainOf(failed.status()) == ErrorDomain::kInput);
  CHECK_THAT(std::string(failed.status().message()), Catch::Contains("input 'y' is missing"));
}

TEST_CASE("problems of a graph are those of opening it") {
  Graph g("bad");
  Tensor x = g.input("x", ElementType::kF32, {2, 3});
  g.output("y", matmul(x, x));
  auto session = Session::create(g, options());
  REQUIRE_FALSE(session.ok());
  CHECK(domainOf(session.status()) == ErrorDomain::kModel);
  CHECK_THAT(std::string(session.status().message()),
             Catch::Contains("graph 'bad' has 1 problem") && Catch::Contains("run_test.cpp"));
}

TEST_CASE("the graph may go on growing, and go, while a session runs it") {
  auto g = std::make_unique<Graph>("grows");
  Tensor x = g->input("x", ElementType::kF32, {1});
  g->output("y", x + 1.0);
  auto session = open(*g);
  g->output("z", x * 2.0);
  g.reset();
  TensorMap inputs;
  inputs["x"] = tensor(Floats{1}, {1});
  auto outputs = session->run(inputs);
  REQUIRE(outputs.ok());
  CHECK(outputs->size() == 1);
  CHECK(valuesOf<float>(outputs->at("y")) == Floats{2});
}

TEST_CASE("workers of this machine run a graph that is in memory alone") {
  const std::string cluster = cacheFolder() + "/cluster.yaml";
  std::filesystem::create_directories(cacheFolder());
  std::ofstream(cluster) << "workers:\n"
                            "  - {name: w0, address: local, devices: [{cpu: {cores: 0}}]}\n";
  Graph g("cluster");
  Tensor x = g.input("x", ElementType::kF32, {1, 64});
  Tensor weight = g.constant(Floats(64 * 64, 0.5F), {64, 64});
  g.output("y", matmul(x, weight, {}, "product"));
  SessionOptions remote = options();
  remote.cluster = cluster;
  remote.workerCommand = {GRAPHRUN_PROGRAM, "worker"};
  remote.pins = {{"product", "w0/cpu:0"}};
  auto session = Session::create(g, remote);
  INFO(session.status().message());
  REQUIRE(session.ok());
  TensorMap inputs;
  inputs["x"] = tensor(Floats(64, 1.0F), {1, 64});
  auto outputs = (*session)->run(inputs);
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  CHECK(valuesOf<float>(outputs->at("y")) == Floats(64, 32.0F));
}

TEST_CASE("runs that nobody waits for end in order, each with its own result") {
  Graph g("async");
  Tensor x = g.input("x", ElementType::kF32, {1});
  g.output("y", x * x);
  auto session = open(g);
  std::vector<std::future<absl::StatusOr<TensorMap>>> results;
  for (int i = 0; i < 10; ++i) {
    TensorMap inputs;
    inputs["x"] = tensor(Floats{static_cast<float>(i)}, {1});
    results.push_back(session->runAsync(std::move(inputs)));
  }
  results.push_back(session->runAsync({}));
  for (int i = 0; i < 10; ++i) {
    auto outputs = results[i].get();
    REQUIRE(outputs.ok());
    CHECK(valuesOf<float>(outputs->at("y")) == Floats{static_cast<float>(i * i)});
  }
  CHECK(domainOf(results[10].get().status()) == ErrorDomain::kInput);
}

TEST_CASE("more waiting runs than allowed are refused, and what waits ends with the session") {
  Graph g("queue");
  Tensor x = g.input("x", ElementType::kF32, {Dim("N")});
  g.output("y", exp(x));
  SessionOptions few = options();
  few.maxWaitingRuns = 1;
  auto session = Session::create(g, few);
  REQUIRE(session.ok());
  std::vector<std::future<absl::StatusOr<TensorMap>>> results;
  for (int64_t i = 0; i < 8; ++i) {  // each of another shape: it has to be planned
    TensorMap inputs;
    inputs["x"] = tensor(Floats(100 + i, 0.0F), {100 + i});
    results.push_back((*session)->runAsync(std::move(inputs)));
  }
  session->reset();
  size_t ran = 0, refused = 0, cancelled = 0;
  for (auto& result : results) {
    auto outputs = result.get();
    ran += outputs.ok() ? 1 : 0;
    refused += absl::IsResourceExhausted(outputs.status()) ? 1 : 0;
    cancelled += absl::IsCancelled(outputs.status()) ? 1 : 0;
  }
  CHECK(ran + refused + cancelled == results.size());
  CHECK(refused >= 1);
}

TEST_CASE("views are read and written where they are, aligned or not") {
  Graph g("views");
  Tensor x = g.input("x", ElementType::kF32, {4});
  g.output("y", x * 2.0);
  auto session = open(g);
  std::vector<float> memory(64);
  for (size_t offset : {0, 1}) {
    const std::vector<float> given = {1, 2, 3, 4};
    std::vector<NamedTensor> inputs, outputs(1);
    inputs.push_back({"x", *HostTensor::view(given, {4})});
    CHECK(inputs[0].tensor.isReadOnly());
    auto target = absl::MakeSpan(memory).subspan(offset, 4);
    outputs[0].tensor = *HostTensor::view(std::span<float>(target.data(), 4), {4});
    REQUIRE(session->run(inputs, outputs).ok());
    CHECK(outputs[0].tensor.data() == target.data());
    CHECK(std::vector<float>(target.begin(), target.end()) == Floats{2, 4, 6, 8});
    outputs[0].tensor = *HostTensor::view(given, {4});  // const: something else is written
    REQUIRE(session->run(inputs, outputs).ok());
    CHECK(given == Floats{1, 2, 3, 4});
    CHECK(valuesOf<float>(outputs[0].tensor) == Floats{2, 4, 6, 8});
  }
}

TEST_CASE("arithmetic and comparisons as operators") {
  auto y = resultOf<float>(Floats{1, 2, 3}, {3}, [](Graph&, Tensor x) {
    Tensor first = x;
    x += 1.0;
    x *= first;
    x -= 2;
    x /= 2;
    return x;  // (x * (x + 1) - 2) / 2
  });
  CHECK(y == Floats{0, 2, 5});
  auto counted = resultOf<float>(Floats{1, 2, 3}, {3}, [](Graph&, const Tensor& x) {
    auto number = [](const Tensor& bools) { return cast(bools, ElementType::kF32); };
    return number(x == 2) + 10 * number(x != 2) + 100 * number(x < 2) + 1000 * number(x <= 2) +
           10000 * number(x > 2) + 100000 * number(2 >= x);
  });
  CHECK(counted == Floats{101110, 101001, 10010});
}

TEST_CASE("parts by index") {
  const Floats twelve = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  auto part = [&](auto build) {
    return resultOf<float>(twelve, {3, 4}, [&](Graph&, const Tensor& x) { return build(x); });
  };
  CHECK(part([](const Tensor& x) { return x[1]; }) == Floats{4, 5, 6, 7});
  CHECK(part([](const Tensor& x) { return x[-1]; }) == Floats{8, 9, 10, 11});
  CHECK(part([](const Tensor& x) { return x[Range(1, 3)]; }) == Floats{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(part([](const Tensor& x) { return x[{Range(), 2}]; }) == Floats{2, 6, 10});
  CHECK(part([](const Tensor& x) { return x[{-2, Range(0, INT64_MAX, 2)}]; }) == Floats{4, 6});
  CHECK(part([](const Tensor& x) { return x[{2, 3}]; }) == Floats{11});
}

TEST_CASE("ranges, orders and indices") {
  CHECK(resultOf<int64_t>(Longs{7}, {1}, [](Graph&, const Tensor& x) { return range(1, x, 2); }) ==
        Longs{1, 3, 5});
  auto six = [](auto build) {
    return resultOf<float>(kSix, {2, 3}, [&](Graph&, const Tensor& x) { return build(x); });
  };
  auto sixIndices = [](auto build) {
    return resultOf<int64_t>(kSix, {2, 3}, [&](Graph&, const Tensor& x) { return build(x); });
  };
  CHECK(sixIndices([](const Tensor& x) { return argMax(x, -1); }) == Longs{0, 1});
  CHECK(sixIndices([](const Tensor& x) { return argMin(x, 0); }) == Longs{1, 0, 0});
  CHECK(six([](const Tensor& x) { return topK(x, 2).values; }) == Floats{3, 2, 5, 4});
  CHECK(sixIndices([](const Tensor& x) { return topK(x, 2).indices; }) == Longs{0, 2, 1, 2});
  CHECK(six([](const Tensor& x) { return topK(x, 1, {.axis = 0, .largest = false}).values; }) ==
        Floats{0, 1, 2});
  CHECK(six([](const Tensor& x) { return cumSum(x, 1); }) == Floats{3, 4, 6, 0, 5, 9});
  CHECK(six([](const Tensor& x) { return cumProd(x, 1, {.exclusive = true, .reverse = true}); }) ==
        Floats{2, 2, 1, 20, 4, 1});
}

TEST_CASE("triangles and one-hot vectors") {
  const Floats nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  auto triangle = [&](auto build) {
    return resultOf<float>(nine, {3, 3}, [&](Graph&, const Tensor& x) { return build(x); });
  };
  CHECK(triangle([](const Tensor& x) { return triu(x); }) == Floats{1, 2, 3, 0, 5, 6, 0, 0, 9});
  CHECK(triangle([](const Tensor& x) { return triu(x, 1); }) == Floats{0, 2, 3, 0, 0, 6, 0, 0, 0});
  CHECK(triangle([](const Tensor& x) { return tril(x); }) == Floats{1, 0, 0, 4, 5, 0, 7, 8, 9});
  CHECK(triangle([](const Tensor& x) { return tril(x, -1); }) == Floats{0, 0, 0, 4, 0, 0, 7, 8, 0});
  // Rows of indices; -1 is the last one, 3 none.
  CHECK(resultOf<float>(Longs{0, -1, 3}, {3}, [](Graph&, const Tensor& x) {
          return oneHot(x, 3);
        }) == Floats{1, 0, 0, 0, 0, 1, 0, 0, 0});
  CHECK(resultOf<int32_t>(std::vector<int32_t>{1, 0}, {2}, [](Graph&, const Tensor& x) {
          return oneHot(x, 2, {.axis = 0, .on = 5, .off = -1, .type = ElementType::kI32});
        }) == std::vector<int32_t>{-1, 5, 5, -1});
}

TEST_CASE("gathering and scattering by indices") {
  auto six = [](auto build) { return resultOf<float>(kSix, {2, 3}, build); };
  CHECK(six([](Graph& g, const Tensor& x) {
          return gatherElements(x, g.constant<int64_t>({2, 0, 0, -1}, {2, 2}), 1);
        }) == Floats{2, 3, 0, 4});
  CHECK(six([](Graph& g, const Tensor& x) {
          return gatherNd(x, g.constant<int64_t>({1, 0, 0, 2}, {2, 2}));
        }) == Floats{0, 2});
  CHECK(six([](Graph& g, const Tensor& x) {
          return gatherNd(x, g.constant<int64_t>({1, 0}, {2, 1}), 1);
        }) == Floats{1, 0});
  CHECK(six([](Graph& g, const Tensor& x) {
          return scatterElements(x, g.constant<int64_t>({1, 2}, {2, 1}),
                                 g.constant({10.0F, 20.0F}, {2, 1}), 1);
        }) == Floats{3, 10, 2, 0, 5, 20});
  CHECK(six([](Graph& g, const Tensor& x) {
          return scatterNd(x, g.constant<int64_t>({1, 1}, {2, 1}),
                           g.constant({1.0F, 2.0F, 3.0F, 10.0F, 20.0F, 30.0F}, {2, 3}),
                           Scatter::kAdd);
        }) == Floats{3, 1, 2, 11, 27, 37});
}

TEST_CASE("sums of products by equation") {
  auto six = [](auto build) { return resultOf<float>(kSix, {2, 3}, build); };
  // kSix times its transpose: rows (3, 1, 2) and (0, 5, 4).
  CHECK(six([](Graph&, const Tensor& x) { return einsum("ij,kj->ik", {x, x}); }) ==
        Floats{14, 13, 13, 41});
  CHECK(six([](Graph&, const Tensor& x) { return einsum("ij->ji", {x}); }) ==
        Floats{3, 0, 1, 5, 2, 4});
  CHECK(six([](Graph&, const Tensor& x) { return einsum("...j->...", {x}); }) == Floats{6, 9});
  CHECK(resultOf<float>(Floats{1, 2, 3, 4}, {2, 2},
                        [](Graph&, const Tensor& x) { return einsum("ii", {x}); }) == Floats{5});
}

TEST_CASE("logarithms of sums of exponentials, also where these are beyond numbers") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  auto rows = [](const Floats& values, int64_t size, bool keepdims) {
    auto count = static_cast<int64_t>(values.size()) / size;
    return resultOf<float>(values, {count, size}, [&](Graph&, const Tensor& x) {
      return reduce(x, Reduction::kLogSumExp, {.axes = {1}, .keepdims = keepdims});
    });
  };
  const float two = std::log(2.0F);
  CHECK(rows({0, 0, 1000, 1000, -1000, -1000}, 2, true) == Floats{two, 1000 + two, -1000 + two});
  CHECK(rows({kInf, 1, -kInf, -kInf, -kInf, 5}, 2, false) == Floats{kInf, -kInf, 5});
  CHECK(std::isnan(rows({std::nanf(""), 1}, 2, false)[0]));
}

TEST_CASE("attention") {
  // Two equal keys share the weight; with a mask, and causally, the first alone counts.
  auto attend = [](const Attention& options) {
    return resultOf<float>(Floats{1, 1}, {1, 1, 2, 1}, [&](Graph& g, const Tensor& query) {
      Attention given = options;
      if (given.mask.valid()) {
        given.mask = g.constant({0.0F, -1e9F}, {1, 2});
      }
      return attention(query, query, g.constant({2.0F, 4.0F}, {1, 1, 2, 1}), given);
    });
  };
  CHECK(attend({}) == Floats{3, 3});
  CHECK(attend({.causal = true}) == Floats{2, 3});
  // Scores 1 / sqrt(4) * (4, 0): weights e^2 / (e^2 + 1) and the rest.
  auto y = resultOf<float>(Floats{1, 1, 1, 1}, {1, 1, 1, 4}, [](Graph& g, const Tensor& query) {
    Tensor key = g.constant({1.0F, 1.0F, 1.0F, 1.0F, 0.0F, 0.0F, 0.0F, 0.0F}, {1, 1, 2, 4});
    return attention(query, key, g.constant({1.0F, 0.0F}, {1, 1, 2, 1}));
  });
  CHECK(y[0] == Approx(0.880797));
}

TEST_CASE("branches run as the condition says") {
  for (bool condition : {true, false}) {
    Graph g("branch");
    Tensor flag = g.input("flag", ElementType::kBool, {});
    Tensor x = g.input("x", ElementType::kF32, {2});
    std::vector<Tensor> results = ifElse(
        flag, [&] { return std::vector{x * 2.0, x}; }, [&] { return std::vector{x - 1.0, x + x}; });
    REQUIRE(results.size() == 2);
    g.output("y", results[0]);
    g.output("z", results[1]);
    TensorMap inputs;
    inputs["flag"] = *HostTensor::from({condition}, {});
    inputs["x"] = tensor(Floats{3, 4}, {2});
    TensorMap outputs = run(g, inputs);
    CHECK(valuesOf<float>(outputs.at("y")) == (condition ? Floats{6, 8} : Floats{2, 3}));
    CHECK(valuesOf<float>(outputs.at("z")) == (condition ? Floats{3, 4} : Floats{6, 8}));
  }
}

TEST_CASE("loops end at their limit, or when their body says so") {
  Graph g("powers");
  Tensor x = g.input("x", ElementType::kF32, {2});
  LoopResult powers = loop({x},
                           [&](const Tensor&, const std::vector<Tensor>& carried) {
                             Tensor next = carried[0] * x;
                             return Iteration{{next}, {next}};
                           },
                           {.limit = 3});
  Tensor bound = g.input("bound", ElementType::kF32, {});
  LoopResult doubled = loop({bound * 0.0 + 1.0, g.scalar(0, ElementType::kI64)},
                            [&](const Tensor&, const std::vector<Tensor>& carried) {
                              Tensor next = carried[0] * 2.0;
                              return Iteration{{next, carried[1] + 1}, {}, next < bound};
                            });
  INFO(g.status().message());
  REQUIRE(g.status().ok());
  g.output("power", powers.carried[0]);
  g.output("powers", powers.collected[0]);
  g.output("doubled", doubled.carried[0]);
  g.output("times", doubled.carried[1]);
  TensorMap inputs;
  inputs["x"] = tensor(Floats{2, 3}, {2});
  inputs["bound"] = *HostTensor::from({20.0F}, {});
  TensorMap outputs = run(g, inputs);
  CHECK(valuesOf<float>(outputs.at("power")) == Floats{16, 81});
  CHECK(valuesOf<float>(outputs.at("powers")) == Floats{4, 9, 8, 27, 16, 81});
  CHECK(valuesOf<float>(outputs.at("doubled")) == Floats{32});
  CHECK(valuesOf<int64_t>(outputs.at("times")) == Longs{5});
}

TEST_CASE("scans go over slices, from either end") {
  for (bool reverse : {false, true}) {
    Graph g("scan");
    Tensor x = g.input("x", ElementType::kF32, {2, 3});
    LoopResult sums =
        scan({x}, {g.constant({0.0F, 0.0F}, {2})},
             [&](const std::vector<Tensor>& slices, const std::vector<Tensor>& carried) {
               Tensor sum = carried[0] + slices[0];
               return Iteration{{sum}, {sum}};
             },
             {.axis = 1, .reverse = reverse});
    INFO(g.status().message());
    REQUIRE(g.status().ok());
    g.output("sum", sums.carried[0]);
    g.output("sums", sums.collected[0]);
    TensorMap inputs;
    inputs["x"] = tensor(kSix, {2, 3});
    TensorMap outputs = run(g, inputs);
    CHECK(valuesOf<float>(outputs.at("sum")) == Floats{6, 9});
    CHECK(valuesOf<float>(outputs.at("sums")) ==
          (reverse ? Floats{2, 4, 3, 9, 6, 9} : Floats{3, 0, 4, 5, 6, 9}));
  }
}

}  // namespace
}  // namespace graphrun
