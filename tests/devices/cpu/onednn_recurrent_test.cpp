#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/devices/cpu/recurrent_oracle.h"

namespace graphrun::devices::cpu {
namespace {

TEST_CASE("oneDNN's recurrent cells agree with plain loops, weights packed at load") {
  const RecurrentCase cases[] = {
      {"rnn", 3, 2, 4, 5},
      {"rnn", 5, 1, 16, 32, true},
      {"gru", 3, 2, 4, 5},
      {"gru", 4, 3, 8, 16, true},
      {"gru", 3, 2, 4, 5, false, true},
      {"gru", 2, 4, 16, 16, true, true},
      {"lstm", 3, 2, 4, 5},
      {"lstm", 6, 3, 16, 32, true},
      {"lstm", 3, 2, 4, 5, false, false, true},
      // Weights that the library would keep in a form of its own.
      {"gru", 2, 16, 64, 512},
  };
  std::mt19937 random(11);
  for (const RecurrentCase& layer : cases) {
    CAPTURE(&layer - cases, layer.cell);
    Tensors operands = layer.operands(random);
    RunOptions options{"onednn.recurrent", false, {1, 2, 3}, true};
    auto got = runOperation(layer.operation(), operands, options);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(oracleDistance(layer, operands, *got) < 1e-4);
  }
}

TEST_CASE("oneDNN's recurrent cells decline what they do not do") {
  const RecurrentCase cases[] = {
      {"lstm", 2, 2, 3, 4, false, false, false, true},
      {"lstm", 2, 2, 3, 4, false, false, false, false, 0.5},
      {"gru", 2, 2, 3, 4, false, false, false, false, 0, {1, 2}},
  };
  std::mt19937 random(13);
  for (const RecurrentCase& layer : cases) {
    CAPTURE(&layer - cases);
    RunOptions options{"onednn.recurrent", false, {1, 2, 3}, true};
    auto got = runOperation(layer.operation(), layer.operands(random), options);
    CHECK(absl::IsUnimplemented(got.status()));
  }
}

TEST_CASE("an LSTM by panels agrees with plain loops") {
  const RecurrentCase cases[] = {
      {"lstm", 3, 2, 4, 5},    {"lstm", 6, 3, 16, 32, true}, {"lstm", 1, 1, 1, 16},
      {"lstm", 9, 20, 7, 33},  {"lstm", 9, 20, 7, 33, true}, {"lstm", 20, 13, 130, 40, true},
      {"lstm", 4, 4, 33, 200}, {"lstm", 3, 140, 3, 17},
  };
  std::mt19937 random(17);
  for (const RecurrentCase& layer : cases) {
    CAPTURE(&layer - cases);
    Tensors operands = layer.operands(random);
    auto got = runOperation(layer.operation(), operands, {"lstm", false, {1, 2, 3}, true});
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(oracleDistance(layer, operands, *got) < 1e-5);
  }
}

/// Whether they agree, with NaN in the same places.
bool closeOrNaN(const std::vector<double>& got, const std::vector<double>& expected) {
  return std::equal(
      got.begin(), got.end(), expected.begin(), expected.end(),
      [](double a, double b) { return std::isnan(b) ? std::isnan(a) : std::fabs(a - b) < 1e-4; });
}

/// What an operation of f32 gives for each number.
std::vector<double> each(const char* operation, const std::vector<double>& x) {
  Dims dims = {static_cast<int64_t>(x.size())};
  Tensors inputs;
  inputs.push_back(f32(dims, x));
  auto got = runOperation({operation, {}, {{ElementType::kF32, dims}}, {}}, inputs);
  REQUIRE(got.ok());
  return values((*got)[0]);
}

std::vector<double> products(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result;
  for (size_t i = 0; i < a.size(); ++i) {
    result.push_back(static_cast<float>(a[i]) * static_cast<float>(b[i]));
  }
  return result;
}

TEST_CASE("the gates of an LSTM by panels are gr.sigmoid and gr.tanh, to the bit") {
  constexpr int64_t kHidden = 200;
  RecurrentCase layer{"lstm", 1, 1, 1, kHidden};
  std::mt19937 random(23);
  Tensors operands = layer.operands(random);
  operands[1] = f32({4 * kHidden, 1}, std::vector<double>(4 * kHidden));
  operands[2] = f32({4 * kHidden, kHidden}, std::vector<double>(4 * kHidden * kHidden));
  operands[3] = randomTensor({4 * kHidden}, random, -12, 12);
  operands[5] = f32({1, kHidden}, std::vector<double>(kHidden));
  auto got = runOperation(layer.operation(), operands, {"lstm", false, {1, 2, 3}, true});
  INFO(got.status());
  REQUIRE(got.ok());
  std::vector<double> bias = values(operands[3]);
  auto gate = [&](int64_t i) {
    return std::vector<double>(bias.begin() + i * kHidden, bias.begin() + (i + 1) * kHidden);
  };
  std::vector<double> state = products(each("gr.sigmoid", gate(0)), each("gr.tanh", gate(2)));
  CHECK(values((*got)[2]) == state);
  CHECK(values((*got)[1]) == products(each("gr.sigmoid", gate(3)), each("gr.tanh", state)));
}

/// Every cell that a kernel of ours or of the library's takes, small and with blocks and tails.
std::vector<RecurrentCase> cellsWithNaN() {
  std::vector<RecurrentCase> cells = {
      {"gru", 4, 3, 8, 16},
      {"gru", 4, 3, 5, 7, true},
      {"gru", 4, 3, 8, 21, false, true},
      {"gru", 4, 3, 1, 1, true, true},
      {"lstm", 4, 3, 8, 16},
      {"lstm", 4, 3, 5, 21, true},
      {"lstm", 4, 3, 8, 17, false, false, true},
      {"gru", 2, 16, 64, 512},
  };
  for (const char* activation : {"tanh", "relu", "sigmoid"}) {
    RecurrentCase cell{"rnn", 4, 3, 8, 21};
    cell.activation = activation;
    cells.push_back(cell);
    cell.inputs = cell.hidden = 1;
    cells.push_back(cell);
  }
  return cells;
}

TEST_CASE("recurrent cells keep NaN of every operand", "[nan]") {
  std::mt19937 random(29);
  std::map<std::string, int> ran;
  for (const RecurrentCase& layer : cellsWithNaN()) {
    for (size_t operand = 0; operand < layer.operands(random).size(); ++operand) {
      Tensors operands = layer.operands(random);
      absl::Span<float> elements = operands[operand].as<float>();
      elements[elements.size() / 3] = NAN;
      for (const char* kernel : {"reference", "lstm", "onednn.recurrent"}) {
        for (bool packed : {false, true}) {
          CAPTURE(layer.cell, layer.hidden, layer.activation, layer.linear, operand, kernel,
                  packed);
          RunOptions options{kernel, false, {}, packed};
          if (packed) {
            options.weights = {1, 2, 3};
          }
          auto got = runOperation(layer.operation(), operands, options);
          if (absl::IsUnimplemented(got.status())) {
            continue;
          }
          REQUIRE(got.status().ToString() == "OK");
          ++ran[kernel];
          auto expected = RecurrentOracle(layer, operands).run();
          for (size_t i = 0; i < got->size(); ++i) {
            CHECK(closeOrNaN(values((*got)[i]), expected[i]));
          }
        }
      }
    }
  }
  CHECK(ran.size() == 3);
}

TEST_CASE("panels are for an LSTM without options") {
  const RecurrentCase cases[] = {
      {"gru", 2, 2, 3, 4},
      {"lstm", 2, 2, 3, 4, false, false, true},
      {"lstm", 2, 2, 3, 4, false, false, false, true},
      {"lstm", 2, 2, 3, 4, false, false, false, false, 0, {1, 2}},
  };
  std::mt19937 random(19);
  for (const RecurrentCase& layer : cases) {
    CAPTURE(&layer - cases);
    auto got =
        runOperation(layer.operation(), layer.operands(random), {"lstm", false, {1, 2, 3}, true});
    CHECK(absl::IsUnimplemented(got.status()));
  }
}

}  // namespace
}  // namespace graphrun::devices::cpu
