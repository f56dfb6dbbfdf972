// oneDNN's kernels against the reference kernels, on random shapes.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/row_images.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "devices/cpu/vectors/instructions.h"
#include "tests/devices/cpu/instruction_runner.h"

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

TEST_CASE("oneDNN transposed convolutions agree with the reference") {
  std::mt19937 random(2);
  int ran = 0;
  for (int i = 0; i < 40; ++i) {
    // The convolution whose gradient it is: input and result change places.
    ConvCase c = randomConv(random, 1 + i % 3);
    int64_t groups = std::get<int64_t>(c.attributes["groups"]);
    Dims in = c.out;
    Dims filter = {c.out[1], c.in[1] / groups};
    filter.insert(filter.end(), c.filter.begin() + 2, c.filter.end());
    Dims out = {in[0], c.in[1]};
    const Dims& strides = std::get<Dims>(c.attributes["strides"]);
    const Dims& dilations = std::get<Dims>(c.attributes["dilations"]);
    const Dims& pads = std::get<Dims>(c.attributes["pads"]);
    bool valid = true;
    for (size_t d = 0; d < strides.size(); ++d) {
      out.push_back((in[2 + d] - 1) * strides[d] + (filter[2 + d] - 1) * dilations[d] + 1 -
                    pads[d] - pads[strides.size() + d]);
      valid = valid && out.back() > 0;
    }
    if (!valid) {
      continue;
    }
    CAPTURE(i, in, filter, out);
    Operation operation{"gr.conv_transpose", c.attributes, {{ElementType::kF32, out}}, {}};
    Tensors inputs;
    inputs.push_back(randomTensor(in, random));
    inputs.push_back(randomTensor(filter, random));
    if (i % 2 == 0) {
      inputs.push_back(randomTensor({out[1]}, random));
    }
    auto expected = runOperation(operation, inputs);
    INFO(expected.status());
    REQUIRE(expected.ok());
    ran += compare(operation, inputs, "onednn.deconv", {1, 2}, *expected) ? 1 : 0;
  }
  // Those whose windows do not overlap much are plain products; the library has kernels for the
  // others where vectors are wide.
  CHECK((ran >= 2 || loopInstructions() != InstructionSet::kAvx512));
}

TEST_CASE("a large transposed convolution with overlapping windows is the library's") {
  if (loopInstructions() == InstructionSet::kSse2) {
    return;  // it has no kernel for it
  }
  std::mt19937 random(2);
  Tensors inputs;
  inputs.push_back(randomTensor({1, 16, 64, 64}, random));
  inputs.push_back(randomTensor({16, 32, 3, 3}, random));
  inputs.push_back(randomTensor({32}, random));
  Operation operation{"gr.conv_transpose",
                      {{"pads", Dims{1, 1, 1, 1}}},
                      {{ElementType::kF32, {1, 32, 64, 64}}},
                      {}};
  auto expected = runOperation(operation, inputs);
  REQUIRE(expected.ok());
  CHECK(compare(operation, inputs, "onednn.deconv", {1, 2}, *expected));
}

/// A convolution along one dim, over H or over H x 1.
struct AlongOneDim {
  Operation operation;
  Tensors inputs;

  AlongOneDim(std::mt19937& random, bool transposed, bool hasColumns, bool depthwise) {
    int64_t groups = depthwise ? pick(random, {3, 16, 33}) : pick(random, {1, 1, 2});
    int64_t in = depthwise ? 1 : pick(random, {1, 4, 16, 17});
    int64_t out = depthwise ? 1 : pick(random, {1, 8, 16, 20});
    int64_t kernel = pick(random, {1, 2, 3, 8}), stride = pick(random, {1, 1, 2, 3});
    int64_t dilation = pick(random, {1, 1, 2}), extent = (kernel - 1) * dilation + 1;
    int64_t before = pick(random, {0, 1, 2}), after = pick(random, {0, 1});
    int64_t height = extent + pick(random, {1, 5, 40, 100}), batch = pick(random, {1, 2});
    int64_t result = transposed ? (height - 1) * stride + extent - before - after
                                : (height + before + after - extent) / stride + 1;
    Dims x = {batch, groups * in, height}, y = {batch, groups * out, result};
    Dims filter = {groups * (transposed ? in : out), transposed ? out : in, kernel};
    Dims strides = {stride}, dilations = {dilation}, pads = {before, after};
    if (hasColumns) {
      for (Dims* dims : {&x, &y, &filter, &dilations}) {
        dims->push_back(1);
      }
      strides.push_back(2);
      pads = {before, 0, after, 0};
    }
    operation.name = transposed ? "gr.conv_transpose" : "gr.conv";
    operation.attributes = {
        {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"groups", groups}};
    operation.outputs = {{ElementType::kF32, y}};
    inputs.push_back(randomTensor(x, random));
    inputs.push_back(randomTensor(filter, random));
    if (random() % 2 == 0) {
      inputs.push_back(randomTensor({y[1]}, random));
    }
    if (!transposed && !depthwise && random() % 2 == 0) {
      addPostOps(random, y);
    }
  }

  void addPostOps(std::mt19937& random, const Dims& result) {
    Dims channels(result.size() - 1, 1);
    channels[0] = result[1];
    inputs.push_back(randomTensor(channels, random));
    inputs.push_back(randomTensor(result, random));
    operation.postOps = {{PostOpKind::kBinaryMul, "", 0, 0, {}},
                         {PostOpKind::kBinaryAdd, "", 0, 0, {}},
                         {PostOpKind::kEltwise, "gr.relu", 0, 0, {}}};
  }

  /// By the reference's operations, one after the other.
  HostTensor expected() const {
    Operation plain = operation;
    plain.postOps.clear();
    Tensors operands;
    size_t own = inputs.size() - (operation.postOps.empty() ? 0 : 2);
    for (size_t i = 0; i < own; ++i) {
      operands.push_back(inputs[i].clone());
    }
    HostTensor result = std::move((*runOperation(plain, operands))[0]);
    for (const char* name : {"gr.mul", "gr.add", "gr.relu"}) {
      if (!operation.postOps.empty()) {
        Tensors next;
        next.push_back(std::move(result));
        if (own < inputs.size()) {
          next.push_back(inputs[own++].clone());
        }
        result = std::move((*runOperation({name, {}, operation.outputs, {}}, next))[0]);
      }
    }
    return result;
  }
};

TEST_CASE("convolutions along one dim agree with the reference") {
  std::mt19937 random(7);
  int ran = 0;
  int onPlanes = 0;
  for (int i = 0; i < 200; ++i) {
    bool transposed = i % 3 == 0;
    AlongOneDim c(random, transposed, i % 2 == 0, i % 5 < 2);
    CAPTURE(i, c.inputs[0].spec().dims, c.inputs[1].spec().dims, c.operation.outputs[0].dims,
            c.operation.postOps.size());
    Tensors expected;
    expected.push_back(c.expected());
    std::string kernel = transposed ? "onednn.deconv" : "onednn.conv";
    ran += compare(c.operation, c.inputs, kernel, {1}, expected) ? 1 : 0;
    kernel = transposed ? "plane_deconv" : "plane_conv";
    auto planes = runOperation(c.operation, c.inputs, {kernel, false, {1}, true});
    INFO(planes.status());
    REQUIRE((planes.ok() || absl::IsUnimplemented(planes.status())));
    CHECK((!planes.ok() || distance((*planes)[0], expected[0]) < kTolerance));
    onPlanes += planes.ok() ? 1 : 0;
  }
  CHECK(onPlanes > 100);
  CHECK(ran > 120);  // transposed ones whose windows do not overlap much are plain products
}

TEST_CASE("the library gets images of one column, and of one dim, as ones of one row") {
  auto instructionOf = [](Dims in, Dims filter, Dims out, Attributes attributes) {
    Instruction instruction;
    instruction.operation = "gr.conv";
    instruction.attributes = std::move(attributes);
    TensorDesc x = *stridedDesc(ElementType::kF32, in, channelsLastStrides(in));
    TensorDesc y = *stridedDesc(ElementType::kF32, out, channelsLastStrides(out));
    instruction.inputs = {{0, x}, {0, {ElementType::kF32, filter, {}, true}}};
    instruction.outputs = {{0, y}};
    return instruction;
  };
  Instruction column = instructionOf({1, 64, 100, 1}, {64, 1, 9, 1}, {1, 64, 50, 1},
                                     {{"groups", int64_t{64}},
                                      {"strides", Dims{2, 3}},
                                      {"pads", Dims{4, 0, 4, 0}},
                                      {"dilations", Dims{1, 1}}});
  Instruction line =
      instructionOf({1, 64, 100}, {64, 1, 9}, {1, 64, 50},
                    {{"groups", int64_t{64}}, {"strides", Dims{2}}, {"pads", Dims{4, 4}}});
  Instruction row =
      instructionOf({1, 64, 1, 100}, {64, 1, 1, 9}, {1, 64, 1, 50},
                    {{"groups", int64_t{64}}, {"strides", Dims{1, 2}}, {"pads", Dims{0, 4, 0, 4}}});
  auto wanted = findKernel("onednn.conv")->choose(row);
  REQUIRE(wanted.ok());
  for (const Instruction& instruction : {column, line}) {
    auto rows = onRows(instruction);
    REQUIRE((rows.ok() && rows->has_value()));
    CHECK((*rows)->inputs[0].desc == row.inputs[0].desc);
    CHECK((*rows)->inputs[1].desc == row.inputs[1].desc);
    CHECK((*rows)->outputs[0].desc == row.outputs[0].desc);
    CHECK((*rows)->attributes.at("strides") == row.attributes.at("strides"));
    CHECK((*rows)->attributes.at("pads") == row.attributes.at("pads"));
    auto choice = findKernel("onednn.conv")->choose(instruction);
    REQUIRE(choice.ok());
    CHECK(choice->implementation == wanted->implementation);
    CHECK(choice->inputs[0] == instruction.inputs[0].desc);
    CHECK(choice->outputs[0] == instruction.outputs[0].desc);
    CHECK(layoutBytes(choice->inputs[1]) == layoutBytes(wanted->inputs[1]));
  }
  // What happens across is the library's to compute.
  column.attributes["pads"] = Dims{4, 1, 4, 1};
  CHECK(!onRows(column)->has_value());
  CHECK(!onRows(row)->has_value());
}

TEST_CASE("planes of one column are summed as one row is") {
  for (const char* operation : {"gr.conv", "gr.conv_transpose"}) {
    bool transposed = operation == std::string("gr.conv_transpose");
    auto bytesOf = [&](Dims in, Dims filter, Dims out, Dims pads) {
      Instruction instruction;
      instruction.operation = operation;
      instruction.attributes = {{"groups", int64_t{8}}, {"pads", std::move(pads)}};
      instruction.inputs = {{0, {ElementType::kF32, std::move(in)}},
                            {0, {ElementType::kF32, std::move(filter), {}, true}}};
      instruction.outputs = {{0, {ElementType::kF32, std::move(out)}}};
      auto choice = findKernel(transposed ? "plane_deconv" : "plane_conv")->choose(instruction);
      REQUIRE(choice.ok());
      return choice->scratchBytes;
    };
    CHECK(bytesOf({1, 8, 500, 1}, {8, 1, 5, 1}, {1, 8, 500, 1}, {2, 0, 2, 0}) ==
          bytesOf({1, 8, 1, 500}, {8, 1, 1, 5}, {1, 8, 1, 500}, {0, 2, 0, 2}));
  }
}

TEST_CASE("post-ops of a convolution: activation, residual, scale") {
  std::mt19937 random(3);
  for (int64_t channels : {16, 20}) {
    Dims in = {1, channels, 9, 9};
    Tensors inputs;
    inputs.push_back(randomTensor(in, random));
    inputs.push_back(randomTensor({channels, channels, 3, 3}, random));
    inputs.push_back(randomTensor({channels}, random));
    Operation conv{"gr.conv", {{"pads", Dims{1, 1, 1, 1}}}, {{ElementType::kF32, in}}, {}};
    auto plain = runOperation(conv, inputs);
    REQUIRE(plain.ok());
    HostTensor residual = randomTensor(in, random);
    HostTensor scale = randomTensor({channels, 1, 1}, random);
    HostTensor rectified(TensorSpec{ElementType::kF32, in});
    HostTensor scaled(TensorSpec{ElementType::kF32, in});
    for (size_t i = 0; i < rectified.as<float>().size(); ++i) {
      float sum = (*plain)[0].as<float>()[i] + residual.as<float>()[i];
      rectified.as<float>()[i] = std::max(sum, 0.0F);
      scaled.as<float>()[i] = std::max(sum, 0.0F) * scale.as<float>()[i / 81];
    }
    inputs.push_back(residual.clone());
    inputs.push_back(scale.clone());
    // Behind a sum in place relu is a pass of its own, and what follows it would be too.
    for (PostOpKind add : {PostOpKind::kSum, PostOpKind::kBinaryAdd}) {
      conv.postOps = {{add, "", 0, 0, {}}, {PostOpKind::kEltwise, "gr.relu", 0, 0, {}}};
      if (add == PostOpKind::kBinaryAdd) {
        conv.postOps.push_back({PostOpKind::kBinaryMul, "", 0, 0, {}});
      } else {
        inputs.pop_back();
      }
      for (bool open : {false, true}) {
        CAPTURE(channels, open, static_cast<int>(add));
        auto got = runOperation(conv, inputs, {"onednn.conv", open, {1, 2}});
        INFO(got.status());
        REQUIRE(got.ok());
        CHECK(distance((*got)[0], add == PostOpKind::kSum ? rectified : scaled) < kTolerance);
      }
      if (add == PostOpKind::kSum) {
        inputs.push_back(scale.clone());
      }
    }
  }
}

TEST_CASE("swish and gelu behind a convolution, near 0, far from it and of NaN") {
  constexpr int64_t kChannels = 20;
  std::vector<double> line = {-1e30, -1e4, -200, -88, -13, -5.3, 88, 1e4, NAN};
  for (int i = -160; i <= 160; ++i) {
    line.push_back(i * i * i * 2e-6);
  }
  auto name = GENERATE(as<std::string>(), "gr.swish", "gr.gelu");
  std::vector<double> x, identity, expected;
  for (int64_t c = 0; c < kChannels; ++c) {
    for (double value : line) {
      value = static_cast<float>(value);
      x.push_back(value);
      expected.push_back(name == "gr.swish" ? value / (1 + std::exp(-1.5 * value))
                                            : value / 2 * std::erfc(-value / std::sqrt(2)));
    }
    for (int64_t k = 0; k < kChannels; ++k) {
      identity.push_back(c == k ? 1 : 0);
    }
  }
  Dims dims = {1, kChannels, 1, static_cast<int64_t>(line.size())};
  Tensors inputs;
  inputs.push_back(f32(dims, x));
  inputs.push_back(f32({kChannels, kChannels, 1, 1}, identity));
  Operation conv{"gr.conv", {}, {{ElementType::kF32, dims}}, {}};
  conv.postOps = {{PostOpKind::kEltwise, name, 1.5F, 0, {}}};
  for (bool open : {false, true}) {
    CAPTURE(open, name);
    auto got = runOperation(conv, inputs, {"onednn.conv", open, {1}});
    REQUIRE(got.status().ToString() == "OK");
    std::vector<double> results = values((*got)[0]);
    for (size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      // Four units in the last place, of subnormal numbers too.
      double tolerance = std::fmax(std::abs(expected[i]) * 5e-7, 6e-45);
      CHECK((std::isnan(x[i]) ? std::isnan(results[i])
                              : std::abs(results[i] - expected[i]) <= tolerance));
    }
  }
}

TEST_CASE("functions behind an activation of a product give what they give alone") {
  constexpr int64_t kCount = 4001;
  ElementType type = GENERATE(ElementType::kF32, ElementType::kBF16);
  Dims dims = {kCount, 1};
  std::vector<double> numbers;
  for (int64_t i = 0; i < kCount; ++i) {
    numbers.push_back(static_cast<double>(i) * 4e-3 - 8);
  }
  Tensors inputs, x;
  inputs.push_back(tensor(type, dims, numbers));
  inputs.push_back(tensor(type, {1, 1}, {1}));
  x.push_back(tensor(type, dims, numbers));
  Operation product{"gr.matmul", {}, {{type, dims}}, {}};
  product.postOps = {{PostOpKind::kEltwise, "gr.tanh", 0, 0, {}},
                     {PostOpKind::kEltwise, "gr.leaky_relu", 0.25F, 0, {}},
                     {PostOpKind::kEltwise, "gr.clip", -0.2F, 0.9F, {}}};
  auto got = runOperation(product, inputs, {"onednn.matmul"});
  if (type == ElementType::kBF16 && absl::IsUnimplemented(got.status())) {
    return;  // the machine has no such products
  }
  INFO(got.status());
  REQUIRE(got.ok());
  for (const Operation& operation :
       {Operation{"gr.tanh", {}, {{type, dims}}, {}},
        Operation{"gr.leaky_relu", {{"alpha", 0.25}}, {{type, dims}}, {}},
        Operation{"gr.clip", {{"low", -0.2}, {"high", 0.9}}, {{type, dims}}, {}}}) {
    auto next = runOperation(operation, x);
    REQUIRE(next.ok());
    x = *std::move(next);
  }
  CHECK(values((*got)[0]) == values(x[0]));
}

TEST_CASE("oneDNN pools agree with the reference") {
  std::mt19937 random(5);
  int ran = 0;
  for (int i = 0; i < 60; ++i) {
    size_t spatial = 1 + static_cast<size_t>(i) % 3;
    Dims in = {pick(random, {1, 2}), pick(random, {3, 16, 20})};
    Dims out = in;
    Dims kernel, strides, dilations, pads(2 * spatial);
    for (size_t d = 0; d < spatial; ++d) {
      kernel.push_back(pick(random, {1, 2, 3}));
      strides.push_back(pick(random, {1, 2}));
      dilations.push_back(i % 5 == 0 && i % 3 != 0 ? 2 : 1);
      pads[d] = kernel[d] > 1 ? pick(random, {0, 1}) : 0;
      pads[spatial + d] = kernel[d] > 1 ? pick(random, {0, 1}) : 0;
      int64_t extent = (kernel[d] - 1) * dilations[d] + 1;
      in.push_back(pick(random, {6, 9}));
      out.push_back((in.back() + pads[d] + pads[spatial + d] - extent) / strides[d] + 1);
    }
    CAPTURE(i, in, kernel, strides, dilations, pads);
    Attributes attributes = {{"kernel", kernel},
                             {"strides", strides},
                             {"dilations", dilations},
                             {"pads", pads},
                             {"count_include_pad", i % 4 == 0}};
    Operation operation{
        i % 2 == 0 ? "gr.avg_pool" : "gr.max_pool", attributes, {{ElementType::kF32, out}}, {}};
    Tensors inputs;
    inputs.push_back(randomTensor(in, random));
    auto expected = runOperation(operation, inputs);
    INFO(expected.status());
    REQUIRE(expected.ok());
    ran += compare(operation, inputs, "onednn.pool", {}, *expected) ? 1 : 0;
  }
  CHECK(ran >= 50);
}

TEST_CASE("a mean over the spatial dims is a pool, and a reduction") {
  std::mt19937 random(6);
  for (bool keepdims : {true, false}) {
    Tensors inputs;
    inputs.push_back(randomTensor({2, 20, 7, 5}, random));
    Operation operation{
        "gr.reduce",
        {{"kind", std::string("mean")}, {"axes", Dims{2, 3}}, {"keepdims", keepdims}},
        {{ElementType::kF32, keepdims ? Dims{2, 20, 1, 1} : Dims{2, 20}}},
        {}};
    auto expected = runOperation(operation, inputs);
    REQUIRE(expected.ok());
    CHECK(compare(operation, inputs, "onednn.pool", {}, *expected));
    CHECK(compare(operation, inputs, "onednn.reduction", {}, *expected));
  }
}

TEST_CASE("oneDNN matrix products agree with the reference") {
  std::mt19937 random(7);
  int inner = 0;
  for (int i = 0; i < 60; ++i) {
    int64_t m = pick(random, {1, 5, 16, 33});
    int64_t k = pick(random, {1, 7, 64});
    int64_t n = pick(random, {1, 10, 48});
    bool transposeLhs = i % 5 == 0;
    bool transposeRhs = i % 2 == 0;
    Dims batch = i % 3 == 0 ? Dims{} : i % 3 == 1 ? Dims{3} : Dims{2, 3};
    Dims lhs = batch;
    lhs.insert(lhs.end(), {transposeLhs ? k : m, transposeLhs ? m : k});
    Dims rhs = i % 4 == 3 ? batch : Dims{};
    rhs.insert(rhs.end(), {transposeRhs ? n : k, transposeRhs ? k : n});
    Dims out = batch;
    out.insert(out.end(), {m, n});
    CAPTURE(i, lhs, rhs, transposeLhs, transposeRhs);
    Operation operation{"gr.matmul",
                        {{"transpose_lhs", transposeLhs}, {"transpose_rhs", transposeRhs}},
                        {{ElementType::kF32, out}},
                        {}};
    Tensors inputs;
    inputs.push_back(randomTensor(lhs, random));
    inputs.push_back(randomTensor(rhs, random));
    std::set<size_t> weights = {1};
    if (i % 2 == 1) {
      inputs.push_back(randomTensor({n}, random));
      weights.insert(2);
    }
    auto expected = runOperation(operation, inputs);
    INFO(expected.status());
    REQUIRE(expected.ok());
    for (const char* kernel : {"onednn.matmul", "onednn.inner_product"}) {
      // Activations stay dense; only the weights are packed.
      for (bool open : {false, true}) {
        CAPTURE(kernel, open);
        RunOptions options{kernel, false, open ? weights : std::set<size_t>{}};
        options.openWeights = open;
        auto got = runOperation(operation, inputs, options);
        if (absl::IsUnimplemented(got.status())) {
          CHECK(std::string(kernel) == "onednn.inner_product");
          continue;
        }
        INFO(got.status());
        REQUIRE(got.ok());
        inner += std::string(kernel) == "onednn.inner_product" ? 1 : 0;
        CHECK(distance((*got)[0], (*expected)[0]) < kTolerance);
      }
    }
  }
  CHECK(inner >= 40);
}

TEST_CASE("a matrix product takes an activation and a residual of the whole result") {
  std::mt19937 random(8);
  Tensors inputs;
  inputs.push_back(randomTensor({2, 3, 16}, random));
  inputs.push_back(randomTensor({16, 24}, random));
  Operation operation{"gr.matmul", {}, {{ElementType::kF32, {2, 3, 24}}}, {}};
  auto expected = runOperation(operation, inputs);
  REQUIRE(expected.ok());
  inputs.push_back(randomTensor({2, 3, 24}, random));
  for (size_t i = 0; i < 144; ++i) {
    float& x = (*expected)[0].as<float>()[i];
    x = std::max(x + inputs[2].as<float>()[i], 0.0F);
  }
  operation.postOps = {{PostOpKind::kBinaryAdd, "", 0, 0, {}},
                       {PostOpKind::kEltwise, "gr.relu", 0, 0, {}}};
  RunOptions options{"onednn.matmul", false, {1}};
  options.openWeights = true;
  auto got = runOperation(operation, inputs, options);
  INFO(got.status());
  REQUIRE(got.ok());
  CHECK(distance((*got)[0], (*expected)[0]) < kTolerance);
}

TEST_CASE("normalisations, element-wise and movement agree with the reference") {
  std::mt19937 random(9);
  struct Case {
    std::string kernel;
    Operation operation;
    std::vector<Dims> inputs;
  };
  TensorSpec image{ElementType::kF32, {2, 20, 6, 5}};
  auto text = [](const char* s) { return std::string(s); };
  std::vector<Case> cases = {
      {"onednn.softmax", {"gr.softmax", {{"axis", int64_t{1}}}, {image}, {}}, {image.dims}},
      {"onednn.lrn", {"gr.lrn", {{"size", int64_t{5}}, {"alpha", 0.3}}, {image}, {}}, {image.dims}},
      {"onednn.layer_norm",
       {"gr.layer_norm", {{"axis", int64_t{2}}}, {image}, {}},
       {image.dims, {6, 5}, {6, 5}}},
      {"onednn.layer_norm", {"gr.layer_norm", {}, {image}, {}}, {image.dims, {5}}},
      {"onednn.binary", {"gr.add", {}, {image}, {}}, {image.dims, {20, 1, 1}}},
      {"onednn.binary", {"gr.div", {}, {image}, {}}, {image.dims, {}}},
      {"onednn.eltwise", {"gr.clip", {{"low", -0.5}, {"high", 0.25}}, {image}, {}}, {image.dims}},
      {"onednn.eltwise", {"gr.abs", {}, {image}, {}}, {image.dims}},
      {"onednn.eltwise", {"gr.round", {}, {image}, {}}, {image.dims}},
      {"onednn.eltwise", {"gr.leaky_relu", {{"alpha", 0.2}}, {image}, {}}, {image.dims}},
      {"onednn.eltwise", {"gr.relu", {}, {image}, {}}, {image.dims}},
      {"onednn.concat",
       {"gr.concat", {{"axis", int64_t{1}}}, {image}, {}},
       {{2, 16, 6, 5}, {2, 4, 6, 5}}},
      {"onednn.concat",  // with strides that say nothing
       {"gr.concat", {{"axis", int64_t{1}}}, {{ElementType::kF32, {1, 20, 6}}}, {}},
       {{1, 1, 6}, {1, 19, 6}}},
      {"onednn.reorder",
       {"gr.transpose",
        {{"permutation", Dims{0, 2, 3, 1}}},
        {{ElementType::kF32, {2, 6, 5, 20}}},
        {}},
       {image.dims}},
      {"onednn.reduction",
       {"gr.reduce",
        {{"kind", text("sum")}, {"axes", Dims{1, 3}}, {"keepdims", false}},
        {{ElementType::kF32, {2, 6}}},
        {}},
       {image.dims}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.kernel, c.operation.name);
    Tensors inputs;
    for (const Dims& dims : c.inputs) {
      inputs.push_back(randomTensor(dims, random));
    }
    auto expected = runOperation(c.operation, inputs);
    INFO(expected.status());
    REQUIRE(expected.ok());
    CHECK(compare(c.operation, inputs, c.kernel, {}, *expected));
  }
}

TEST_CASE("a maximum, which oneDNN starts at the lowest finite number, is the reference's") {
  double infinity = std::numeric_limits<double>::infinity();
  Tensors inputs;
  inputs.push_back(f32({2, 2}, {-infinity, -infinity, 1, -infinity}));
  Operation operation{"gr.reduce",
                      {{"kind", std::string("max")}, {"axes", Dims{1}}, {"keepdims", false}},
                      {{ElementType::kF32, {2}}},
                      {}};
  auto declined = runOperation(operation, inputs, {.kernel = "onednn.reduction"});
  CHECK(absl::IsUnimplemented(declined.status()));
  auto got = runOperation(operation, inputs);
  REQUIRE(got.ok());
  CHECK(values((*got)[0]) == std::vector<double>{-infinity, 1});
}

TEST_CASE("with the layouts that it chose a kernel has the implementation that it chose") {
  // Of images of one element all layouts are the same memory, and yet not the same to the library.
  Instruction instruction;
  instruction.operation = "gr.conv";
  instruction.inputs = {{0, {ElementType::kF32, {1, 96, 1, 1}, {}, true}},
                        {0, {ElementType::kF32, {40, 96, 1, 1}, {}, true}}};
  instruction.outputs = {{0, {ElementType::kF32, {1, 40, 1, 1}, {}, true}}};
  auto chosen = bestCandidate(instruction);
  REQUIRE(chosen.ok());
  for (size_t i : {0, 1}) {
    instruction.inputs[i].desc = chosen->choice->inputs[i];
  }
  instruction.outputs[0].desc = chosen->choice->outputs[0];
  auto again = chosen->kernel->choose(instruction);
  REQUIRE(again.ok());
  CHECK(again->implementation == chosen->choice->implementation);
}

TEST_CASE("the library's kernels come before the reference") {
  Instruction instruction;
  instruction.operation = "gr.conv";
  instruction.inputs = {{0, {ElementType::kF32, {1, 3, 8, 8}, {}}},
                        {0, {ElementType::kF32, {4, 3, 3, 3}, {}}}};
  instruction.outputs = {{0, {ElementType::kF32, {1, 4, 6, 6}, {}}}};
  REQUIRE(bestCandidate(instruction).ok());
  CHECK(bestCandidate(instruction)->kernel->name == "onednn.conv");
  for (Argument* argument :
       {&instruction.inputs[0], &instruction.inputs[1], &instruction.outputs[0]}) {
    argument->desc.type = ElementType::kF64;
  }
  CHECK(bestCandidate(instruction)->kernel->name == "reference");
  instruction.inputs[0].desc.dims[1] = 5;
  CHECK(!bestCandidate(instruction).ok());
}

}  // namespace graphrun::devices::cpu
