// What gradients are made of. That the reference kernels are right in f64 is proved by central
// differences (tests/ir/gradients); here are other types, and what has no derivative.
#include <catch2/catch.hpp>

#include "tests/devices/cpu/backward_cases.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

using Values = std::vector<double>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The first operand's elements, rounded to `type`.
Tensors inType(ElementType type, const Tensors& tensors) {
  Tensors converted;
  for (const HostTensor& each : tensors) {
    converted.push_back(tensor(type, each.spec().dims, values(each)));
  }
  return converted;
}

Values maxPoolBackward(const Dims& in, const Values& x, const Dims& out, const Values& dy,
                       const Attributes& window) {
  auto got =
      runOperation({"gr.max_pool_backward", window, {{ElementType::kF64, in}}, {}},
                   list(tensor(ElementType::kF64, in, x), tensor(ElementType::kF64, out, dy)));
  INFO(got.status());
  REQUIRE(got.ok());
  return values((*got)[0]);
}

}  // namespace

TEST_CASE("backward operations give in every type what they give in f64") {
  std::mt19937 random(1);
  for (const BackwardCase& each : backwardCases()) {
    CAPTURE(each.operation, each.inputs, each.attributes.count("groups"));
    Tensors inputs = operandsOf(each, random);
    for (ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
      Tensors rounded = inType(type, inputs);
      auto exact =
          runOperation(operationOf(each, ElementType::kF64), inType(ElementType::kF64, rounded));
      auto got = runOperation(operationOf(each, type), rounded);
      INFO(exact.status() << got.status());
      REQUIRE((exact.ok() && got.ok()));
      for (size_t i = 0; i < got->size(); ++i) {
        // They are computed in f64, and rounded once.
        HostTensor expected = tensor(type, (*exact)[i].spec().dims, values((*exact)[i]));
        CHECK(distance((*got)[i], expected) < (type == ElementType::kF32   ? 1e-6
                                               : type == ElementType::kF16 ? 1e-3
                                                                           : 8e-3));
      }
    }
  }
}

TEST_CASE("the first of equal elements of a window gets the gradient, and NaN before all") {
  const Attributes pairs = {{"kernel", Dims{2}}, {"strides", Dims{1}}};
  CHECK(maxPoolBackward({1, 1, 4}, {3, 3, 3, 1}, {1, 1, 3}, {1, 10, 100}, pairs) ==
        Values{1, 10, 100, 0});
  CHECK(maxPoolBackward({1, 1, 4}, {3, kNaN, kNaN, 9}, {1, 1, 3}, {1, 10, 100}, pairs) ==
        Values{0, 11, 100, 0});
  CHECK(maxPoolBackward({1, 1, 2}, {-0.0, 0.0}, {1, 1, 1}, {5}, pairs) == Values{5, 0});
  // A window of padding alone gives its gradient to nothing.
  CHECK(maxPoolBackward({1, 1, 2}, {1, 2}, {1, 1, 4}, {1, 10, 100, 1000},
                        {{"kernel", Dims{1}}, {"strides", Dims{1}}, {"pads", Dims{1, 1}}}) ==
        Values{10, 100});
}

TEST_CASE("the statistics of a batch are those of each channel") {
  Tensors inputs =
      list(f32({2, 2, 2}, {1, 3, 10, 10, 5, 7, 10, 10}), f32({2}, {2, 3}), f32({2}, {1, -1}));
  auto got = runOperation(
      {"gr.batch_norm_training",
       {{"epsilon", 4.0}},
       {{ElementType::kF32, {2, 2, 2}}, {ElementType::kF32, {2}}, {ElementType::kF32, {2}}},
       {}},
      inputs);
  INFO(got.status());
  REQUIRE(got.ok());
  CHECK(values((*got)[1]) == Values{4, 10});
  CHECK(values((*got)[2]) == Values{5, 0});
  // 2 / sqrt(5 + 4) a step.
  CHECK(distance((*got)[0], f32({2, 2, 2}, {-1, 1. / 3, -1, -1, 5. / 3, 3, -1, -1})) < 1e-6);
}

TEST_CASE("backward operations of wrong shapes are refused") {
  auto refused = [](const std::string& name, const Attributes& attributes, std::vector<Dims> in,
                    std::vector<Dims> out) {
    std::mt19937 random(1);
    Tensors inputs;
    for (const Dims& dims : in) {
      inputs.push_back(randomTensor(dims, random));
    }
    std::vector<TensorSpec> outputs;
    for (const Dims& dims : out) {
      outputs.push_back({ElementType::kF32, dims});
    }
    return absl::IsInvalidArgument(runOperation({name, attributes, outputs, {}}, inputs).status());
  };
  const Attributes kernel = {{"kernel", Dims{3}}};
  CHECK(refused("gr.conv_backward_filter", kernel, {{1, 2, 5}, {1, 4, 2}}, {{4, 2, 3}}));
  CHECK(refused("gr.conv_backward_filter", kernel, {{1, 2, 5}, {2, 4, 3}}, {{4, 2, 3}}));
  CHECK(refused("gr.conv_backward_filter", kernel, {{1, 2, 5}, {1, 4, 3}}, {{4, 1, 3}}));
  CHECK(refused("gr.conv_backward_filter", {{"kernel", Dims{3}}, {"groups", int64_t{3}}},
                {{1, 2, 5}, {1, 4, 3}}, {{4, 2, 3}}));
  CHECK(refused("gr.max_pool_backward", kernel, {{1, 2, 5}, {1, 2, 2}}, {{1, 2, 5}}));
  CHECK(refused("gr.max_pool_backward", kernel, {{1, 2, 5}, {1, 3, 3}}, {{1, 2, 5}}));
  CHECK(refused("gr.avg_pool_backward", {{"kernel", Dims{3}}, {"dims", Dims{6}}}, {{1, 2, 3}},
                {{1, 2, 5}}));
  auto cell = [](BackwardCase each, const char* name, size_t inputs) {
    each.attributes["cell"] = std::string(name);
    each.inputs.resize(inputs);
    return each;
  };
  const BackwardCase lstm = RecurrentBackward{"lstm", 3, 2, 4}.made();
  for (const BackwardCase& each :
       {cell(lstm, "gru", 7), cell(lstm, "elman", 7), cell(lstm, "lstm", 6)}) {
    CHECK(refused(each.operation, each.attributes, each.inputs, each.outputs));
  }
  BackwardCase wrong = lstm;
  wrong.inputs[3] = {2, 3};
  CHECK(refused(wrong.operation, wrong.attributes, wrong.inputs, wrong.outputs));
  const BackwardCase grid = gridSampleCase({2, 3, 4, 5}, {2, 3, 2, 2}, "linear", "border");
  CHECK(refused(grid.operation, grid.attributes, grid.inputs, {{2, 3, 4, 5}, {2, 2, 3, 2}}));
  CHECK(refused(grid.operation, grid.attributes, {{2, 3, 4, 5}, {2, 3, 2, 2}, {2, 3, 2, 3}},
                grid.outputs));
  CHECK(refused("gr.softmax_backward", {}, {{2, 3}, {3, 2}}, {{2, 3}}));
  CHECK(refused("gr.softmax_backward", {{"axis", int64_t{2}}}, {{2, 3}, {2, 3}}, {{2, 3}}));
  CHECK(refused("gr.layer_norm_backward", {}, {{2, 3}, {1}, {2, 3}}, {{2, 3}, {1}, {1}}));
  CHECK(refused("gr.batch_norm_backward", {}, {{2, 3}, {3}, {3}, {2}, {2, 3}}, {{2, 3}, {3}, {3}}));
  CHECK(refused("gr.batch_norm_training", {}, {{2, 3}, {3}, {3}}, {{2, 3}, {2}, {3}}));
}

}  // namespace graphrun::devices::cpu
