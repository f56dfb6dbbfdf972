#include <catch2/catch.hpp>

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
