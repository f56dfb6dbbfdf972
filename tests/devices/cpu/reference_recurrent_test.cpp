#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/devices/cpu/recurrent_oracle.h"

namespace graphrun::devices::cpu {
namespace {

TEST_CASE("recurrent layers agree with plain loops") {
  const RecurrentCase cases[] = {
      {"rnn", 3, 2, 4, 5},
      {"rnn", 4, 3, 2, 3, true, false, false, false, 0.25, {4, 1, 0}},
      {"gru", 3, 2, 4, 5},
      {"gru", 3, 2, 4, 5, false, true},
      {"gru", 4, 2, 3, 2, true, true, false, false, 0.5, {2, 4}},
      {"lstm", 5, 2, 3, 4, false, false, false, false, 0.3},
      {"lstm", 3, 2, 4, 5},
      {"lstm", 5, 2, 3, 4, true, false, true},
      {"lstm", 4, 3, 2, 3, false, false, true, true, 0.75, {1, 3, 4}},
  };
  std::mt19937 random(7);
  for (const RecurrentCase& layer : cases) {
    CAPTURE(&layer - cases, layer.cell);
    Tensors operands = layer.operands(random);
    auto got = runOperation(layer.operation(), operands);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(oracleDistance(layer, operands, *got) < 1e-5);
  }
}

TEST_CASE("recurrent layers in 16 and 64 bits") {
  RecurrentCase layer{"lstm", 3, 2, 4, 5};
  for (ElementType type : {ElementType::kF64, ElementType::kF16, ElementType::kBF16}) {
    CAPTURE(runtime::elementTypeName(type));
    std::mt19937 random(9);
    Tensors narrow;
    for (const HostTensor& operand : layer.operands(random)) {
      narrow.push_back(tensor(type, operand.spec().dims, values(operand)));
    }
    auto got = runOperation(layer.operation(type), narrow);
    INFO(got.status());
    REQUIRE(got.ok());
    auto expected = RecurrentOracle(layer, narrow).run();
    for (size_t i = 0; i < got->size(); ++i) {
      const Dims& dims = (*got)[i].spec().dims;
      HostTensor wide = f32(dims, values((*got)[i])), exact = f32(dims, expected[i]);
      if (type == ElementType::kBF16) {
        CHECK(normDistance(wide, exact) <= kBFloat16Norm);
      } else {
        CHECK(distance(wide, exact) < 2e-3);
      }
    }
  }
}

TEST_CASE("what recurrent layers keep makes their results, and is 0 beyond the lengths") {
  const RecurrentCase cases[] = {
      {"rnn", 3, 2, 4, 5},
      {"rnn", 4, 3, 2, 3, true, false, false, false, 0.25, {4, 1, 0}},
      {"gru", 3, 2, 4, 5, false, true},
      {"gru", 4, 2, 3, 2, true, false, false, false, 0.5, {2, 4}},
      {"lstm", 5, 2, 3, 4, true, false, true},
      {"lstm", 4, 3, 2, 3, false, false, true, true, 0.75, {1, 3, 4}},
  };
  std::mt19937 random(8);
  for (RecurrentCase layer : cases) {
    CAPTURE(&layer - cases, layer.cell);
    layer.keepsSums = true;
    Tensors operands = layer.operands(random);
    auto got = runOperation(layer.operation(), operands);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(oracleDistance(layer, operands, *got) < 1e-5);
    const std::vector<double> all = values((*got)[0]);
    const std::vector<double> sums = values((*got)[layer.cell == "lstm" ? 3 : 2]);
    const std::vector<double> inner = layer.keepsInner() ? values(got->back()) : all;
    auto bounded = [&](double x) {
      return layer.clip > 0 ? std::clamp(x, -layer.clip, layer.clip) : x;
    };
    auto sigmoid = [&](double x) { return 1 / (1 + std::exp(-bounded(x))); };
    const auto h = static_cast<size_t>(layer.hidden);
    const size_t parts = sums.size() / all.size();
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t row = i / h;
      auto sum = [&](size_t part) { return sums[row * parts * h + part * h + i % h]; };
      const auto length = layer.lengths.empty()
                              ? layer.steps
                              : static_cast<int64_t>(layer.lengths[row % layer.lengths.size()]);
      if (static_cast<int64_t>(row) / layer.batch >= length) {
        CHECK((sum(0) == 0 && sum(parts - 1) == 0 && inner[i] == 0));
      } else if (layer.cell == "rnn") {
        CHECK(all[i] == Approx(std::tanh(bounded(sum(0)))).margin(1e-6));
      } else if (layer.cell == "lstm") {
        CHECK(all[i] == Approx(sigmoid(sum(3)) * std::tanh(inner[i])).margin(1e-6));
      } else {
        // Hidden values lie between those of the step before and the new ones.
        const double fresh = std::tanh(bounded(sum(2)));
        const double before = (all[i] - (1 - sigmoid(sum(0))) * fresh) / sigmoid(sum(0));
        if (layer.keepsInner()) {
          CHECK(inner[i] == Approx(sigmoid(sum(1)) * before).margin(1e-5));
        } else {
          CHECK(std::fabs(before) <= 1.001);
        }
      }
    }
  }
}

TEST_CASE("every activation of a recurrent layer") {
  const std::vector<std::pair<std::string, double>> expected = {
      {"affine", 0.3 * 0.5 - 0.2},
      {"elu", 0.5},
      {"hardsigmoid", 0},
      {"leakyrelu", 0.5},
      {"relu", 0.5},
      {"scaledtanh", 0.3 * std::tanh(-0.1)},
      {"softsign", 0.5 / 1.5},
      {"softplus", std::log1p(std::exp(0.5))},
      {"thresholdedrelu", 0.5}};
  RecurrentCase layer{"rnn", 1, 1, 1, 1};
  for (const auto& [name, value] : expected) {
    CAPTURE(name);
    Operation op = layer.operation();
    op.attributes["activations"] = std::vector<std::string>{name};
    op.attributes["alphas"] = std::vector<double>{0.3};
    op.attributes["betas"] = std::vector<double>{-0.2};
    Tensors operands;
    operands.push_back(f32({1, 1, 1}, {0.5}));
    operands.push_back(f32({1, 1}, {1}));
    operands.push_back(f32({1, 1}, {1}));
    operands.push_back(f32({1}, {0}));
    operands.push_back(f32({1, 1}, {0}));
    auto got = runOperation(op, operands);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(values((*got)[1])[0] == Approx(value).margin(1e-6));
  }
}

TEST_CASE("recurrent layers refuse operands that do not fit") {
  RecurrentCase layer{"lstm", 3, 2, 4, 5};
  std::mt19937 random(3);
  Operation op = layer.operation();
  op.attributes["cell"] = std::string("gru");
  CHECK(absl::IsInvalidArgument(runOperation(op, layer.operands(random)).status()));
  op = layer.operation();
  op.attributes["activations"] = std::vector<std::string>{"sigmoid", "sine", "tanh"};
  CHECK(absl::IsInvalidArgument(runOperation(op, layer.operands(random)).status()));
  op = layer.operation();
  op.outputs[0].dims[0] = 4;
  CHECK(absl::IsInvalidArgument(runOperation(op, layer.operands(random)).status()));
}

}  // namespace
}  // namespace graphrun::devices::cpu
