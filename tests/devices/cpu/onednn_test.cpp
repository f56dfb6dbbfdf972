// oneDNN's kernels against the reference kernels, on random shapes.
#include <catch2/catch.hpp>

#include "devices/cpu/kernels.h"
#include "tests/devices/cpu/step_runner.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kTolerance = 2e-4;

int64_t pick(std::mt19937& random, std::initializer_list<int64_t> from) {
  return from.begin()[random() % from.size()];
}

/// Runs on the reference kernel and on `kernel`, with dense and with open layouts; false where the
/// kernel declines.
bool compare(const Operation& operation, const Tensors& inputs, const std::string& kernel,
             const std::set<size_t>& weights, const Tensors& expected) {
  bool ran = false;
  for (bool open : {false, true}) {
    CAPTURE(open, kernel);
    auto got = runOperation(operation, inputs, {kernel, open, weights});
    if (!got.ok()) {
      CAPTURE(got.status().ToString());
      CHECK(absl::IsUnimplemented(got.status()));
      continue;
    }
    ran = true;
    CHECK(distance((*got)[0], expected[0]) < kTolerance);
  }
  return ran;
}

struct ConvCase {
  Dims in, filter, out;
  Attributes attributes;
};

/// A random convolution of `spatial` dims that has a result.
ConvCase randomConv(std::mt19937& random, size_t spatial) {
  ConvCase c;
  int64_t groups = pick(random, {1, 1, 2, 3});
  int64_t inGroup = pick(random, {1, 3, 4, 8, 16, 17});
  int64_t outGroup = pick(random, {1, 5, 8, 16, 20});
  c.in = {pick(random, {1, 2}), groups * inGroup};
  c.filter = {groups * outGroup, inGroup};
  c.out = {c.in[0], groups * outGroup};
  Dims strides, dilations, pads(2 * spatial);
  for (size_t d = 0; d < spatial; ++d) {
    int64_t kernel = pick(random, {1, 2, 3, 5});
    int64_t in = pick(random, {7, 12, 15});
    strides.push_back(pick(random, {1, 2}));
    dilations.push_back(pick(random, {1, 1, 2}));
    pads[d] = pick(random, {0, 1, 2});
    pads[spatial + d] = pick(random, {0, 1});
    int64_t extent = (kernel - 1) * dilations[d] + 1;
    in = std::max(in, extent);
    c.in.push_back(in);
    c.filter.push_back(kernel);
    c.out.push_back((in + pads[d] + pads[spatial + d] - extent) / strides[d] + 1);
  }
  c.attributes = {
      {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"groups", groups}};
  return c;
}

}  // namespace

TEST_CASE("oneDNN convolutions agree with the reference") {
  std::mt19937 random(1);
  int ran = 0;
  for (int i = 0; i < 60; ++i) {
    ConvCase c = randomConv(random, 1 + i % 3);
    CAPTURE(i, c.in, c.filter, c.out);
    Operation operation{"gr.conv", c.attributes, {{ElementType::kF32, c.out}}, {}};
    Tensors inputs;
    inputs.push_back(randomTensor(c.in, random));
    inputs.push_back(randomTensor(c.filter, random));
    if (i % 2 == 0) {
      inputs.push_back(randomTensor({c.out[1]}, random));
    }
    auto expected = runOperation(operation, inputs);
    REQUIRE(expected.ok());
    ran += compare(operation, inputs, "onednn.conv", {1, 2}, *expected) ? 1 : 0;
  }
  CHECK(ran == 60);
}

}  // namespace graphrun::devices::cpu
