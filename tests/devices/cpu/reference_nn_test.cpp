#include <catch2/catch.hpp>

#include "tests/devices/cpu/instruction_runner.h"
#include "tests/devices/cpu/nn_cases.h"
#include "tests/devices/cpu/resize_cases.h"

namespace graphrun::devices::cpu {

TEST_CASE("nn operations give ONNX Runtime's values") {
  for (const NnCase& c : kNnCases) {
    for (ElementType type :
         {ElementType::kF32, ElementType::kF64, ElementType::kF16, ElementType::kBF16}) {
      CAPTURE(c.operation, &c - kNnCases.data(), runtime::elementTypeName(type));
      Tensors inputs;
      for (const auto& [dims, data] : c.inputs) {
        inputs.push_back(tensor(type, dims, data));
      }
      auto got = runOperation({c.operation, c.attributes, {{type, c.outputDims}}, {}}, inputs);
      INFO(got.status());
      REQUIRE(got.ok());
      // Inputs have one decimal: 16-bit types round them.
      HostTensor expected = tensor(type, c.outputDims, c.expected);
      if (type == ElementType::kBF16) {
        CHECK(normDistance((*got)[0], expected) <= kBFloat16Norm);
      } else {
        CHECK(distance((*got)[0], expected) < (type == ElementType::kF16 ? 0.01 : 1e-5));
      }
    }
  }
}

TEST_CASE("resize gives ONNX Runtime's values in every mode") {
  std::vector<double> x;
  for (int i = 1; i <= 12; ++i) {
    x.push_back(i);
  }
  for (const ResizeCase& c : kResizeCases) {
    CAPTURE(c.mode, c.coordinates, c.rounding, c.excludeOutside, c.scales);
    Attributes attributes = {{"mode", c.mode},
                             {"coordinates", c.coordinates},
                             {"rounding", c.rounding},
                             {"exclude_outside", c.excludeOutside}};
    Operation operation{"gr.resize", attributes, {{ElementType::kF32, c.outputDims}}, {}};
    Tensors inputs;
    inputs.push_back(f32({1, 1, 3, 4}, x));
    inputs.push_back(f32({4}, c.scales));
    auto got = runOperation(operation, inputs);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(distance((*got)[0], f32(c.outputDims, c.expected)) < 1e-4);
  }
}

TEST_CASE("resize of integers by sizes copies elements exactly") {
  Attributes attributes = {{"mode", std::string("nearest")},
                           {"coordinates", std::string("asymmetric")},
                           {"rounding", std::string("floor")}};
  Tensors inputs;
  inputs.push_back(i64({1, 2}, {9007199254740993.0, -5}));
  inputs.push_back(i64({2}, {2, 4}));
  inputs[0].as<int64_t>()[0] = (int64_t{1} << 60) + 1;  // not a double
  auto got = runOperation({"gr.resize", attributes, {{ElementType::kI64, {2, 4}}}, {}}, inputs);
  REQUIRE(got.ok());
  CHECK((*got)[0].as<int64_t>()[5] == (int64_t{1} << 60) + 1);
  CHECK((*got)[0].as<int64_t>()[3] == -5);
}

TEST_CASE("nn operations of wrong shapes are refused") {
  std::mt19937 random(5);
  auto refused = [&](const std::string& name, const Attributes& attributes, std::vector<Dims> dims,
                     Dims out) {
    Tensors inputs;
    for (const Dims& d : dims) {
      inputs.push_back(randomTensor(d, random));
    }
    auto got = runOperation({name, attributes, {{ElementType::kF32, std::move(out)}}, {}}, inputs);
    return absl::IsInvalidArgument(got.status());
  };
  CHECK(refused("gr.conv", {}, {{1, 2, 4, 4}, {3, 2, 3, 3}}, {1, 3, 4, 4}));
  CHECK(refused("gr.conv", {}, {{1, 2, 4, 4}, {3, 1, 3, 3}}, {1, 3, 2, 2}));
  CHECK(refused("gr.conv", {{"strides", Dims{0, 1}}}, {{1, 2, 4, 4}, {3, 2, 3, 3}}, {1, 3, 2, 2}));
  CHECK(refused("gr.conv", {{"groups", int64_t{0}}}, {{1, 2, 4, 4}, {3, 2, 3, 3}}, {1, 3, 2, 2}));
  CHECK(refused("gr.max_pool", {{"kernel", Dims{2, 2}}}, {{1, 2, 4, 4}}, {1, 2, 4, 4}));
  CHECK(refused("gr.max_pool", {}, {{1, 2, 4, 4}}, {1, 2, 3, 3}));
  CHECK(refused("gr.batch_norm", {}, {{1, 2, 4}, {2}, {2}, {2}, {3}}, {1, 2, 4}));
  CHECK(refused("gr.softmax", {{"axis", int64_t{3}}}, {{1, 2, 4}}, {1, 2, 4}));
  CHECK(refused("gr.resize", {}, {{1, 2, 4}}, {1, 2, 8}));
}

TEST_CASE("a softmax of 16-bit floats rounds each step, as ONNX's body of it does") {
  Tensors inputs;
  inputs.push_back(tensor(ElementType::kF16, {1, 3}, {0, 1, -1}));
  auto got = runOperation({"gr.softmax", {}, {{ElementType::kF16, {1, 3}}}, {}}, inputs);
  REQUIRE(got.ok());
  // exp gives 0.36792, 1 and 0.13538, of which the sum is 1.50293: a multiple of 2^-10.
  CHECK(values((*got)[0]) == std::vector<double>{0.2447509765625, 0.66552734375, 0.090087890625});
}

}  // namespace graphrun::devices::cpu
