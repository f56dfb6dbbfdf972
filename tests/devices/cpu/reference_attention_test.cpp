#include <catch2/catch.hpp>
#include <cmath>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

/// One head of the keys, two of the query, two steps; state, key and value of width 2.
absl::StatusOr<Tensors> attend(ElementType type, bool delta) {
  Tensors inputs;
  inputs.push_back(tensor(type, {1, 2, 2, 2}, {1, 0, 0, 1, 1, 1, 2, 0}));  // query
  inputs.push_back(tensor(type, {1, 1, 2, 2}, {1, 0, 1, 1}));              // key
  inputs.push_back(tensor(type, {1, 1, 2, 2}, {1, 2, 3, 4}));              // value
  inputs.push_back(tensor(type, {1, 1, 2, 2}, {1, 1, 1, 1}));              // state
  inputs.push_back(tensor(type, {1, 1, 2, 1}, {1, 0.5}));                  // gate, one a step
  inputs.push_back(tensor(type, {1, 1, 1, 1}, {0.5}));                     // rate, one for all
  return runOperation(
      {"gr.linear_attention", {{"delta", delta}}, {{type, {1, 2, 2, 2}}, {type, {1, 1, 2, 2}}}, {}},
      inputs);
}

}  // namespace

TEST_CASE("a linear attention updates its state and reads it for each head of the query") {
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
    CAPTURE(runtime::elementTypeName(type));
    auto got = attend(type, false);
    INFO(got.status());
    REQUIRE(got.ok());
    // S = [1 1; 1 1] + k v' = [1.5 2; 1 1], then half of it plus [1; 1] [1.5 2] = [2.25 3; 2 2.5].
    CHECK(values((*got)[0]) == std::vector<double>{1.5, 2, 2, 2.5, 2.5, 3, 4.5, 6});
    CHECK(values((*got)[1]) == std::vector<double>{2.25, 3, 2, 2.5});
  }
}

TEST_CASE("the delta rule writes what the state does not know yet") {
  auto got = attend(ElementType::kF32, true);
  INFO(got.status());
  REQUIRE(got.ok());
  // w = ([1 2] - [1 1]) / 2; S = [1 1.5; 1 1]; half of it knows [1 1.25] of the next key.
  CHECK(values((*got)[1]) == std::vector<double>{1.5, 2.125, 1.5, 1.875});
  CHECK(values((*got)[0]) == std::vector<double>{1, 1.5, 1.5, 1.875, 2, 2.5, 3, 4.25});
}

TEST_CASE("a linear attention of shapes that do not fit is refused") {
  Tensors inputs;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(f32({1, 1, 1, 1}, {1}));
  }
  inputs[1] = f32({1, 2, 1, 1}, {1, 1});
  auto got = runOperation({"gr.linear_attention",
                           {},
                           {{ElementType::kF32, {1, 1, 1, 1}}, {ElementType::kF32, {1, 1, 1, 1}}},
                           {}},
                          inputs);
  CHECK(absl::IsInvalidArgument(got.status()));
}

}  // namespace graphrun::devices::cpu
