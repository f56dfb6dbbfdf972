#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

using Values = std::vector<double>;
using Ints = std::vector<int64_t>;

Values run(const std::string& name, const Attributes& attributes, const TensorSpec& output,
           Tensors inputs) {
  auto got = tryRun(name, attributes, {output}, inputs);
  INFO(name << ": " << got.status());
  REQUIRE(got.ok());
  return values((*got)[0]);
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensors tree(const Values& nodes, const Values& x) {
  auto rows = static_cast<int64_t>(nodes.size() / 7);
  return list(f32({static_cast<int64_t>(x.size()), 1}, x), f32({rows}, Values(rows, 0.5)),
              i64({rows, 7}, nodes), f32({2}, {3, 4}), f32({3}, {10, 20, 30}), i64({3}, {0, 1, 1}),
              i64({1}, {0}));
}

}  // namespace

TEST_CASE("look-up in every type: the last of equal keys, NaN and zero, and what is not there") {
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
    CHECK(run("gr.lookup", {}, {ElementType::kI64, {2, 2}},
              list(tensor(type, {2, 2}, {2, kNan, -0.0, 7}), tensor(type, {4}, {2, 0, kNan, 2}))) ==
          Values{3, 2, 1, 4});
  }
  for (ElementType type : {ElementType::kI64, ElementType::kI32, ElementType::kI16,
                           ElementType::kU8, ElementType::kBool}) {
    CHECK(run("gr.lookup", {}, {ElementType::kI64, {2}},
              list(tensor(type, {2}, {1, 0}), tensor(type, {1}, {1}))) == Values{0, 1});
  }
  CHECK(run("gr.lookup", {}, {ElementType::kI64, {0}}, list(i64({0}, {}), i64({0}, {}))).empty());
  auto missing = tryRun("gr.lookup", {{"required", true}}, {{ElementType::kI64, {1}}},
                        list(i64({1}, {5}), i64({2}, {1, 2})));
  CHECK(std::string(missing.status().message()).find("none of the categories") !=
        std::string::npos);
  CHECK_FALSE(
      tryRun("gr.lookup", {}, {{ElementType::kI64, {1}}}, list(i64({1}, {5}), f32({1}, {5}))).ok());
}

TEST_CASE("n-grams of two lengths, with skips") {
  auto count = [](int64_t shortest, int64_t longest, int64_t skips) {
    return run("gr.ngram_count",
               {{"starts", Ints{0, 2}},
                {"places", Ints{0, 1, 2, 3}},
                {"shortest", shortest},
                {"longest", longest},
                {"skips", skips}},
               {ElementType::kF32, {1, 4}},
               list(i64({1, 5}, {1, 2, 1, 3, 2}), i64({6}, {1, 2, 1, 2, 2, 3})));
  };
  CHECK(count(1, 1, 3) == Values{2, 2, 0, 0});
  CHECK(count(2, 2, 0) == Values{0, 0, 1, 0});
  CHECK(count(1, 2, 1) == Values{2, 2, 2, 1});  // 1 _ 2 and 2 _ 3
  CHECK_FALSE(tryRun("gr.ngram_count",
                     {{"starts", Ints{0, 9}},
                      {"places", Ints{0}},
                      {"shortest", int64_t{1}},
                      {"longest", int64_t{1}},
                      {"skips", int64_t{0}}},
                     {{ElementType::kF32, {1}}}, list(i64({1}, {1}), i64({1}, {1})))
                  .ok());
}

TEST_CASE("a tree compares in every way, and its leaves are joined") {
  TensorSpec output{ElementType::kF32, {4, 2}};
  auto first = [&](double mode, double missing) {
    Values nodes = {mode, 0, 1, 2, missing, 0, 2, 7, 0, 0, 1, 0, 0, 0, 7, 0, 1, 3, 0, 0, 0};
    Values y = run("gr.tree_ensemble", {{"aggregate", std::string("sum")}}, output,
                   tree(nodes, {0.25, 0.5, 3, kNan}));
    return Values{y[0], y[2], y[4], y[6]};  // 10 where the comparison holds
  };
  CHECK(first(0, 0) == Values{10, 10, 0, 0});
  CHECK(first(0, 1) == Values{10, 10, 0, 10});
  CHECK(first(1, 0) == Values{10, 0, 0, 0});
  CHECK(first(2, 0) == Values{0, 10, 10, 0});
  CHECK(first(3, 0) == Values{0, 0, 10, 0});
  CHECK(first(4, 0) == Values{0, 10, 0, 0});
  CHECK(first(5, 0) == Values{10, 0, 10, 10});
  CHECK(first(6, 0) == Values{0, 0, 10, 0});
  Values leaf = {7, 0, 0, 3, 0, 0, 0};
  auto all = [&](const char* how) {
    return run("gr.tree_ensemble", {{"aggregate", std::string(how)}}, {ElementType::kF32, {1, 2}},
               tree(leaf, {0}));
  };
  CHECK(all("sum") == Values{10, 50});
  CHECK(all("average") == Values{10, 50});
  CHECK(all("min") == Values{10, 20});
  CHECK(all("max") == Values{10, 30});
}

TEST_CASE("trees that refer to what is not there end with an error, cycles too") {
  TensorSpec output{ElementType::kF32, {1, 2}};
  auto error = [&](const Values& nodes) {
    auto got =
        tryRun("gr.tree_ensemble", {{"aggregate", std::string("sum")}}, {output}, tree(nodes, {0}));
    return std::string(got.status().message());
  };
  const char* kRefers = "refers to a feature, node, member, weight or output that there is not";
  for (const Values& nodes : {Values{0, 1, 0, 0, 0, 0, 0},
                              {0, -1, 0, 0, 0, 0, 0},
                              {0, 0, 9, 9, 0, 0, 0},
                              {0, 0, -1, -1, 0, 0, 0},
                              {6, 0, 0, 0, 0, 1, 9},
                              {6, 0, 0, 0, 0, -1, 0},
                              {7, 0, 0, 4, 0, 0, 0},
                              {7, 0, 2, 1, 0, 0, 0},
                              {8, 0, 0, 0, 0, 0, 0}}) {
    CHECK(error(nodes).find(kRefers) != std::string::npos);
  }
  CHECK(error({0, 0, 0, 0, 0, 0, 0}).find("a tree has a cycle") != std::string::npos);
  CHECK(error({7, 0, 0, 3, 0, 0, 0}).empty());
}

TEST_CASE("squared distances, and probabilities of classes from those of pairs") {
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
    CHECK(run("gr.squared_distance", {}, {type, {2, 2}},
              list(tensor(type, {2, 2}, {0, 0, 1, 2}), tensor(type, {2, 2}, {0, 0, 3, 4}))) ==
          Values{0, 25, 5, 8});
  }
  // Consistent pairs: p(i) / (p(i) + p(j)) for 0.5, 0.3, 0.2.
  Values p = {0.5, 0.3, 0.2};
  Values pairs;
  for (double i : p) {
    for (double j : p) {
      pairs.push_back(i / (i + j));
    }
  }
  Values got = run("gr.couple_probabilities", {}, {ElementType::kF64, {1, 3}},
                   list(tensor(ElementType::kF64, {1, 3, 3}, pairs)));
  for (size_t i = 0; i < 3; ++i) {
    CHECK(std::fabs(got[i] - p[i]) < 0.01);
  }
}

}  // namespace graphrun::devices::cpu
