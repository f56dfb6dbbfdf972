// oneDNN's products of bytes against the reference kernels: integers, so bit by bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

int64_t pick(std::mt19937& random, std::initializer_list<int64_t> from) {
  return from.begin()[random() % from.size()];
}

int64_t countOf(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// Bytes over the whole range; `extreme`: those that make the largest sums, and a few others.
HostTensor bytes(ElementType type, const Dims& dims, std::mt19937& random, bool extreme) {
  double low = type == ElementType::kU8 ? 0 : -128;
  std::vector<double> elements(static_cast<size_t>(countOf(dims)));
  for (double& element : elements) {
    bool limit = extreme && random() % 64 != 0;
    element = limit ? (type == ElementType::kU8 ? 255 : -128) : low + random() % 256;
  }
  return tensor(type, dims, elements);
}

/// Runs `operation` on the reference and on `kernel`; false where the machine or the kernel
/// declines.
bool agree(const Operation& operation, const Tensors& inputs, const std::string& kernel) {
  auto expected = runOperation(operation, inputs);
  INFO(expected.status());
  REQUIRE(expected.ok());
  bool ran = false;
  for (const RunOptions& options :
       {RunOptions{kernel, false, {}, false}, RunOptions{kernel, true, {1}, false}}) {
    auto got = runOperation(operation, inputs, options);
    if (!got.ok()) {
      INFO(got.status());
      CHECK(absl::IsUnimplemented(got.status()));
      continue;
    }
    ran = true;
    CHECK(values((*got)[0]) == values((*expected)[0]));
  }
  return ran;
}

/// False on machines whose instructions saturate: there every kernel must decline.
bool machineIsExact() {
  std::mt19937 random(1);
  Tensors inputs;
  inputs.push_back(bytes(ElementType::kU8, {4, 8}, random, false));
  inputs.push_back(bytes(ElementType::kI8, {8, 4}, random, false));
  return agree({"gr.matmul", {}, {{ElementType::kI32, {4, 4}}}, {}}, inputs, "onednn.matmul");
}

}  // namespace

TEST_CASE("oneDNN's matrix products of bytes are exact") {
  std::mt19937 random(2);
  bool exact = machineIsExact();
  for (int i = 0; i < 30; ++i) {
    int64_t m = pick(random, {1, 3, 16, 33}), n = pick(random, {1, 5, 32, 47});
    int64_t k = pick(random, {1, 7, 64, 515, 2049});
    Dims batch = i % 3 == 2 ? Dims{2, 3} : Dims{};
    auto dims = [&](int64_t rows, int64_t columns) {
      Dims all = batch;
      all.insert(all.end(), {rows, columns});
      return all;
    };
    CAPTURE(i, m, k, n, batch);
    bool transposed = i % 4 == 1;
    Tensors inputs;
    inputs.push_back(bytes(ElementType::kU8, dims(m, k), random, i % 2 == 0));
    inputs.push_back(
        bytes(ElementType::kI8, transposed ? dims(n, k) : dims(k, n), random, i % 2 == 0));
    Operation product{
        "gr.matmul", {{"transpose_rhs", transposed}}, {{ElementType::kI32, dims(m, n)}}, {}};
    CHECK(agree(product, inputs, "onednn.matmul") == exact);
    if (batch.empty()) {
      agree(product, inputs, "onednn.inner_product");
    }
  }
}

TEST_CASE("oneDNN's convolutions of bytes are exact") {
  std::mt19937 random(3);
  int ran = 0;
  constexpr int kCases = 40;
  for (int i = 0; i < kCases; ++i) {
    int64_t groups = pick(random, {1, 1, 2, 8});
    int64_t inGroup = pick(random, {1, 3, 16, 40, 130});
    int64_t outGroup = pick(random, {1, 1, 5, 16});
    int64_t kernel = pick(random, {1, 2, 3}), stride = pick(random, {1, 2});
    int64_t size = pick(random, {5, 9, 14}), pad = pick(random, {0, 1});
    int64_t result = (size + 2 * pad - kernel) / stride + 1;
    CAPTURE(i, groups, inGroup, outGroup, kernel, stride, size, pad);
    Tensors inputs;
    inputs.push_back(
        bytes(ElementType::kU8, {2, groups * inGroup, size, size}, random, i % 2 == 0));
    inputs.push_back(
        bytes(ElementType::kI8, {groups * outGroup, inGroup, kernel, kernel}, random, i % 2 == 0));
    Operation operation{"gr.conv",
                        {{"strides", Dims{stride, stride}},
                         {"dilations", Dims{1, 1}},
                         {"pads", Dims{pad, pad, pad, pad}},
                         {"groups", groups}},
                        {{ElementType::kI32, {2, groups * outGroup, result, result}}},
                        {}};
    ran += agree(operation, inputs, "onednn.conv") ? 1 : 0;
  }
  // Some groups have sums that the library would round.
  CHECK(ran >= (machineIsExact() ? kCases / 2 : 0));
}

TEST_CASE("oneDNN's maxima of bytes agree with the reference") {
  std::mt19937 random(6);
  int ran = 0;
  for (int i = 0; i < 20; ++i) {
    ElementType type = i % 2 == 0 ? ElementType::kU8 : ElementType::kI8;
    int64_t kernel = pick(random, {1, 2, 3}), stride = pick(random, {1, 2});
    int64_t channels = pick(random, {1, 5, 16, 33}), size = pick(random, {3, 7, 12});
    int64_t pad = kernel > 1 ? pick(random, {0, 1}) : 0;
    int64_t result = (size + 2 * pad - kernel) / stride + 1;
    CAPTURE(i, kernel, stride, channels, size, pad);
    Tensors inputs;
    inputs.push_back(bytes(type, {2, channels, size, size}, random, false));
    Operation operation{"gr.max_pool",
                        {{"kernel", Dims{kernel, kernel}},
                         {"strides", Dims{stride, stride}},
                         {"dilations", Dims{1, 1}},
                         {"pads", Dims{pad, pad, pad, pad}}},
                        {{type, {2, channels, result, result}}},
                        {}};
    ran += agree(operation, inputs, "onednn.pool") ? 1 : 0;
  }
  CHECK(ran == 20);
}

TEST_CASE("integer sums take no bias and no post-operation in oneDNN") {
  std::mt19937 random(4);
  Tensors inputs;
  inputs.push_back(bytes(ElementType::kU8, {4, 8}, random, false));
  inputs.push_back(bytes(ElementType::kI8, {8, 4}, random, false));
  inputs.push_back(tensor(ElementType::kI32, {4}, {1, 2, 3, 1 << 25}));
  Operation product{"gr.matmul", {}, {{ElementType::kI32, {4, 4}}}, {}};
  CHECK(absl::IsUnimplemented(runOperation(product, inputs, {"onednn.matmul"}).status()));
  CHECK(runOperation(product, inputs).ok());
}

TEST_CASE("sums of bytes are scaled, shifted and stored as bytes or floats") {
  std::mt19937 random(7);
  bool exact = machineIsExact();
  for (ElementType type : {ElementType::kU8, ElementType::kI8, ElementType::kF32}) {
    for (const char* kernel : {"onednn.matmul", "onednn.inner_product", "onednn.conv"}) {
      CAPTURE(runtime::elementTypeName(type), kernel);
      bool convolves = kernel == std::string("onednn.conv");
      constexpr int64_t kRows = 9, kDepth = 40, kChannels = 24;
      // The same product twice: a convolution of one position a row.
      Dims in = {kRows, kDepth}, weights = {kChannels, kDepth}, out = {kRows, kChannels};
      Attributes attributes = {{"transpose_rhs", true}};
      if (convolves) {
        in.insert(in.end(), {1, 1});
        weights.insert(weights.end(), {1, 1});
        out.insert(out.end(), {1, 1});
        attributes = {{"strides", Dims{1, 1}}, {"dilations", Dims{1, 1}}, {"pads", Dims(4, 0)}};
      }
      std::string name = convolves ? "gr.conv" : "gr.matmul";
      Tensors inputs;
      inputs.push_back(bytes(ElementType::kU8, in, random, false));
      inputs.push_back(bytes(ElementType::kI8, weights, random, false));
      auto sums = runOperation({name, attributes, {{ElementType::kI32, out}}, {}}, inputs);
      REQUIRE(sums.ok());
      std::vector<double> bias, scales;
      for (int64_t c = 0; c < kChannels; ++c) {
        bias.push_back(static_cast<double>(c) * 100 - 1000);
        scales.push_back(0.002 + 0.0001 * static_cast<double>(c));
      }
      inputs.push_back(tensor(ElementType::kI32, {kChannels}, bias));
      attributes["scales"] = scales;
      Operation operation{name, attributes, {{type, out}}, {}};
      operation.postOps = {{PostOpKind::kEltwise, "linear", 0.5, 11, {}}};
      auto got = runOperation(operation, inputs, {kernel, true, {1, 2}, false});
      INFO(got.status());
      REQUIRE(got.ok() == exact);
      if (!exact) {
        continue;
      }
      double low = type == ElementType::kU8 ? 0 : -128;
      std::vector<double> y = values((*got)[0]), sum = values((*sums)[0]);
      for (size_t i = 0; i < y.size(); ++i) {
        size_t c = i % kChannels;
        double expected = (sum[i] + bias[c]) * scales[c] * 0.5 + 11;
        bool isFloat = type == ElementType::kF32;
        expected = isFloat ? expected : std::clamp(std::nearbyint(expected), low, low + 255);
        CHECK(y[i] == Approx(expected).margin(isFloat ? 1e-3 : 0));
      }
    }
  }
}

TEST_CASE(
    "an element-wise post-op comes but once with each algorithm, scaled where a factor follows") {
  Tensors inputs;
  inputs.push_back(f32({2, 2}, {1, -2, 3, -4}));
  inputs.push_back(f32({2, 2}, {1, 0, 0, 1}));
  Operation product{"gr.matmul", {}, {{ElementType::kF32, {2, 2}}}, {}};
  auto eltwise = [](const char* name, float alpha, float beta) {
    return PostOp{PostOpKind::kEltwise, name, alpha, beta, {}};
  };
  product.postOps = {eltwise("gr.clip", -1, 2), eltwise("linear", 3, 0), eltwise("gr.abs", 0, 0),
                     eltwise("linear", 2, 1)};
  auto got = runOperation(product, inputs, {"onednn.matmul"});
  REQUIRE(got.ok());
  CHECK(values((*got)[0]) == std::vector<double>{7, 7, 13, 7});
  product.postOps = {eltwise("gr.leaky_relu", 0.5, 0), eltwise("gr.relu", 0, 0)};
  got = runOperation(product, inputs, {"onednn.matmul"});
  CHECK(absl::IsUnimplemented(got.status()));  // oneDNN would give -1 for -2
}

TEST_CASE("rows are padded as by the reference, whatever the order of dims") {
  std::mt19937 random(5);
  for (int i = 0; i < 40; ++i) {
    Dims in = {pick(random, {1, 2}), pick(random, {1, 3, 8}), pick(random, {1, 4, 7}),
               pick(random, {2, 5})};
    std::vector<double> pads;
    Dims out = in;
    for (size_t d = 0; d < 8; ++d) {
      int64_t pad = pick(random, {0, 0, 1, 3});
      pad = d % 4 == 3 && i % 4 == 0 ? -1 : pad;  // crops
      pads.push_back(static_cast<double>(pad));
      out[d % 4] += pad;
    }
    CAPTURE(i, in, out, pads);
    ElementType type = i % 2 == 0 ? ElementType::kU8 : ElementType::kF32;
    Tensors inputs;
    inputs.push_back(bytes(ElementType::kU8, in, random, false));
    inputs.back() = tensor(type, in, values(inputs.back()));
    inputs.push_back(i64({8}, pads));
    inputs.push_back(tensor(type, {}, {7}));
    Operation pad{"gr.pad", {{"mode", std::string("constant")}}, {{type, out}}, {}};
    auto expected = runOperation(pad, inputs);
    auto got = runOperation(pad, inputs, {"pad"});
    INFO(expected.status() << got.status());
    REQUIRE((expected.ok() && got.ok()));
    CHECK(values((*got)[0]) == values((*expected)[0]));
  }
}

}  // namespace graphrun::devices::cpu
