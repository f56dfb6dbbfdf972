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

}  // namespace
}  // namespace graphrun::devices::cpu
