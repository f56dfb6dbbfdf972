// The kernels that are loops of our own, against the reference, in all layouts that they take.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "tests/devices/cpu/like_reference.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kTolerance = 5e-5;

int64_t pick(std::mt19937& random, std::initializer_list<int64_t> from) {
  return from.begin()[random() % from.size()];
}

TensorDesc channelsLast(const HostTensor& tensor) {
  const TensorSpec& spec = tensor.spec();
  return *stridedDesc(spec.type, spec.dims, channelsLastStrides(spec.dims));
}

/// N x C/8 x H x W x 8.
TensorDesc channelBlocks(const HostTensor& tensor) {
  const Dims& dims = tensor.spec().dims;
  int64_t plane = dims[2] * dims[3] * 8;
  int64_t blocks = (dims[1] + 7) / 8;
  Blocking blocking{dims, dims, {blocks * plane, plane, dims[3] * 8, 8}, {8}, {1}};
  blocking.paddedDims[1] = blocks * 8;
  return *blockedDesc(tensor.spec().type, blocking);
}

/// Compares `kernel` with the reference where the first operands lie as `layouts` says.
void check(const Operation& operation, const Tensors& inputs, const std::string& kernel,
           std::vector<TensorDesc> layouts = {}) {
  CAPTURE(layouts.empty() ? "dense" : layoutName(layouts[0]));
  RunOptions options{kernel, true};
  options.layouts = std::move(layouts);
  requireLikeReference(operation, inputs, options, kTolerance);
}

Tensors oneOf(const Dims& dims, std::mt19937& random) {
  Tensors inputs;
  inputs.push_back(randomTensor(dims, random));
  return inputs;
}

Operation resizeTo(const Dims& out, const char* mode, const char* coordinates,
                   std::vector<double> scales, bool antialias = false) {
  return {"gr.resize",
          {{"mode", std::string(mode)},
           {"coordinates", std::string(coordinates)},
           {"rounding", std::string("floor")},
           {"antialias", antialias},
           {"scales", std::move(scales)}},
          {{ElementType::kF32, out}},
          {}};
}

}  // namespace

TEST_CASE("rows are resized as the reference does") {
  std::mt19937 random(1);
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"}) {
      for (auto [height, width] : {std::pair<int64_t, int64_t>{10, 14}, {4, 7}, {3, 9}, {5, 20}}) {
        CAPTURE(mode, coordinates, height, width);
        Tensors inputs = oneOf({2, 20, 5, 7}, random);
        Operation resize =
            resizeTo({2, 20, height, width}, mode, coordinates,
                     {1, 1, static_cast<double>(height) / 5.0, static_cast<double>(width) / 7.0});
        check(resize, inputs, "resize");
        check(resize, inputs, "resize", {channelsLast(inputs[0])});
        check(resize, inputs, "resize", {channelBlocks(inputs[0])});
      }
    }
  }
}

TEST_CASE("rows are resized in any dims, shrunk without aliasing, or left alone") {
  std::mt19937 random(2);
  check(resizeTo({2, 6, 4}, "linear", "half_pixel", {1, 2, 2}), oneOf({2, 3, 2}, random), "resize");
  check(resizeTo({4, 3, 4, 5}, "linear", "half_pixel", {2, 1, 2, 1}), oneOf({2, 3, 2, 5}, random),
        "resize");
  check(resizeTo({1, 2, 6, 4, 9}, "linear", "asymmetric", {1, 1, 2, 2, 1.5}),
        oneOf({1, 2, 3, 2, 6}, random), "resize");
  check(resizeTo({2, 3}, "nearest", "half_pixel", {1, 1}), oneOf({2, 3}, random), "resize");
  for (const char* mode : {"linear", "cubic"}) {
    check(resizeTo({1, 2, 5, 6}, mode, "half_pixel", {1, 1, 5.0 / 13, 0.4}, true),
          oneOf({1, 2, 13, 15}, random), "resize");
  }
}

TEST_CASE("a resize whose scales are not known, or that crops, is the reference's") {
  Operation resize = resizeTo({1, 1, 8, 8}, "linear", "half_pixel", {});
  Instruction instruction;
  instruction.operation = resize.name;
  instruction.attributes = resize.attributes;
  instruction.inputs = {{0, {ElementType::kF32, {1, 1, 4, 4}}}, {0, {ElementType::kF32, {4}}}};
  instruction.outputs = {{0, {ElementType::kF32, {1, 1, 8, 8}}}};
  CHECK(bestCandidate(instruction)->kernel->name == "reference");
  instruction.inputs[1].desc.type = ElementType::kI64;  // sizes
  CHECK(bestCandidate(instruction)->kernel->name == "resize");
  instruction.attributes["policy"] = std::string("not_larger");
  CHECK(bestCandidate(instruction)->kernel->name == "reference");
}

TEST_CASE("lines are reduced as the reference does") {
  std::mt19937 random(3);
  const Dims in = {3, 20, 17, 33};
  for (const char* kind : {"sum", "mean", "max", "min", "prod"}) {
    for (const Dims& axes : {Dims{3}, {1}, {0}, {2, 3}, {0, 2}, {1, 3}, {0, 2, 3}, {0, 1, 2, 3}}) {
      for (bool keepdims : {true, false}) {
        CAPTURE(kind, axes, keepdims);
        Dims out;
        for (int64_t d = 0; d < 4; ++d) {
          bool reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
          if (keepdims || !reduced) {
            out.push_back(reduced ? 1 : in[static_cast<size_t>(d)]);
          }
        }
        Operation reduce{"gr.reduce",
                         {{"kind", std::string(kind)}, {"axes", axes}, {"keepdims", keepdims}},
                         {{ElementType::kF32, out}},
                         {}};
        Tensors inputs;
        // Products stay near 1.
        bool product = kind == std::string("prod");
        inputs.push_back(randomTensor(in, random, product ? 0.999 : -1, product ? 1.001 : 1));
        check(reduce, inputs, "reduce");
        check(reduce, inputs, "reduce", {channelsLast(inputs[0])});
      }
    }
  }
}

TEST_CASE("sums of many elements stay exact, whether they follow each other or not") {
  for (const Dims& in : {Dims{200000, 1}, {200000, 3}}) {
    Tensors inputs;
    inputs.push_back(f32(in, std::vector<double>(static_cast<size_t>(in[0] * in[1]), 0.1)));
    Operation reduce{"gr.reduce",
                     {{"kind", std::string("mean")}, {"axes", Dims{0}}, {"keepdims", true}},
                     {{ElementType::kF32, {1, in[1]}}},
                     {}};
    auto got = runOperation(reduce, inputs, {"reduce"});
    REQUIRE(got.ok());
    CHECK(std::abs(values((*got)[0])[0] - 0.1) < 1e-6);
  }
}

TEST_CASE("a NaN among reduced elements is the largest and the smallest; infinities count") {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t count : {5, 40, 300}) {
    for (int64_t position : {int64_t{0}, count / 2, count - 1}) {
      for (const char* kind : {"max", "min"}) {
        std::vector<double> line(static_cast<size_t>(count), -infinity);
        line[static_cast<size_t>(position)] = nan;
        std::vector<double> other(line.size(), kind == std::string("max") ? -infinity : infinity);
        line.insert(line.end(), other.begin(), other.end());
        Tensors inputs;
        inputs.push_back(f32({2, count}, line));
        Operation reduce{"gr.reduce",
                         {{"kind", std::string(kind)}, {"axes", Dims{1}}, {"keepdims", false}},
                         {{ElementType::kF32, {2}}},
                         {}};
        auto got = runOperation(reduce, inputs, {"reduce"});
        REQUIRE(got.ok());
        CHECK(std::isnan(values((*got)[0])[0]));
        CHECK(values((*got)[0])[1] == other[0]);
      }
    }
  }
}

TEST_CASE("instances are normalised as the reference does") {
  std::mt19937 random(4);
  for (const Dims& dims : {Dims{2, 20, 6, 5}, {1, 70, 31, 33}, {3, 1, 1, 7}}) {
    Tensors inputs = oneOf(dims, random);
    inputs.push_back(randomTensor({dims[1]}, random));
    inputs.push_back(randomTensor({dims[1]}, random));
    Operation norm{"gr.instance_norm", {{"epsilon", 1e-3}}, {{ElementType::kF32, dims}}, {}};
    check(norm, inputs, "instance_norm");
    check(norm, inputs, "instance_norm", {channelsLast(inputs[0])});
  }
}

TEST_CASE("operands are concatenated where they lie in one order") {
  std::mt19937 random(5);
  for (int64_t axis = 0; axis < 4; ++axis) {
    Dims out = {2, 3, 4, 5};
    Tensors inputs;
    for (int64_t more : {0, 2, 1}) {
      Dims dims = {2, 3, 4, 5};
      dims[static_cast<size_t>(axis)] += more;
      inputs.push_back(randomTensor(dims, random));
    }
    out[static_cast<size_t>(axis)] = 3 * out[static_cast<size_t>(axis)] + 3;
    Operation concat{"gr.concat", {{"axis", axis}}, {{ElementType::kF32, out}}, {}};
    CAPTURE(axis);
    check(concat, inputs, "concat");
    check(concat, inputs, "concat",
          {channelsLast(inputs[0]), channelsLast(inputs[1]), channelsLast(inputs[2])});
  }
}

TEST_CASE("operands in different orders are not concatenated by rows") {
  std::mt19937 random(6);
  Tensors inputs = oneOf({1, 3, 4, 5}, random);
  inputs.push_back(inputs[0].clone());
  Operation concat{"gr.concat", {{"axis", int64_t{1}}}, {{ElementType::kF32, {1, 6, 4, 5}}}, {}};
  RunOptions options{"concat", false};
  options.layouts = {channelsLast(inputs[0])};
  CHECK(absl::IsUnimplemented(runOperation(concat, inputs, options).status()));
}

TEST_CASE("tiles are transposed, and rows copied") {
  std::mt19937 random(8);
  for (const Dims& permutation : {Dims{0, 2, 3, 1},
                                  {0, 3, 1, 2},
                                  {3, 2, 1, 0},
                                  {1, 0, 3, 2},
                                  {2, 3, 0, 1},
                                  {0, 1, 3, 2},
                                  {1, 0, 2, 3}}) {
    for (const Dims& in : {Dims{2, 16, 4, 20}, {3, 37, 5, 64}, {1, 3, 40, 17}, {2, 3, 1, 130}}) {
      Dims out;
      for (int64_t from : permutation) {
        out.push_back(in[static_cast<size_t>(from)]);
      }
      CAPTURE(permutation, in);
      Operation transpose{
          "gr.transpose", {{"permutation", permutation}}, {{ElementType::kF32, out}}, {}};
      Tensors inputs = oneOf(in, random);
      check(transpose, inputs, "transpose");
      if (permutation == Dims{0, 2, 3, 1}) {
        check(transpose, inputs, "transpose", {channelsLast(inputs[0])});
      }
    }
  }
}

TEST_CASE("tiles have elements of any size") {
  std::mt19937 random(10);
  for (ElementType type : {ElementType::kU8, ElementType::kBool, ElementType::kF16,
                           ElementType::kI64, ElementType::kF64}) {
    for (const Dims& in : {Dims{64, 48}, {35, 67}, {3, 130}, {130, 5}}) {
      CAPTURE(type, in);
      Tensors inputs;
      inputs.emplace_back(TensorSpec{type, in});
      std::ranges::generate(inputs[0].as<uint8_t>(), [&] { return random() % 2; });
      Operation transpose{
          "gr.transpose", {{"permutation", Dims{1, 0}}}, {{type, {in[1], in[0]}}}, {}};
      auto got = runOperation(transpose, inputs, {"transpose"});
      auto expected = runOperation(transpose, inputs);
      REQUIRE(got.status().ToString() == "OK");
      REQUIRE(expected.status().ToString() == "OK");
      CHECK((*got)[0].as<uint8_t>() == (*expected)[0].as<uint8_t>());
    }
  }
}

TEST_CASE("tiles are reordered between layouts, also of channel blocks that are full") {
  std::mt19937 random(9);
  for (int64_t channels : {8, 24, 40}) {
    Tensors inputs = oneOf({2, channels, 5, 7}, random);
    Operation reorder{"reorder", {}, {inputs[0].spec()}, {}};
    for (const TensorDesc& desc : {channelsLast(inputs[0]), channelBlocks(inputs[0])}) {
      auto got = runOperation(reorder, inputs, {"transpose", true, {}, false, {desc}});
      REQUIRE(got.status().ToString() == "OK");
      CHECK(values((*got)[0]) == values(inputs[0]));
    }
  }
  Tensors inputs = oneOf({2, 20, 5, 7}, random);
  Operation reorder{"reorder", {}, {inputs[0].spec()}, {}};
  RunOptions partial{"transpose", true, {}, false, {channelBlocks(inputs[0])}};
  CHECK(absl::IsUnimplemented(runOperation(reorder, inputs, partial).status()));
}

TEST_CASE("transposed convolutions are products, spread") {
  std::mt19937 random(7);
  int ran = 0;
  for (int i = 0; i < 120; ++i) {
    size_t spatial = 1 + static_cast<size_t>(i) % 3;
    int64_t groups = pick(random, {1, 1, 2, 3});
    int64_t outGroup = pick(random, {1, 2, 3, 4, 5, 17});
    Dims in = {pick(random, {1, 2}), groups * pick(random, {1, 3, 8})};
    Dims filter = {in[1], outGroup};
    Dims out = {in[0], groups * outGroup};
    Dims strides, dilations, pads(2 * spatial), extra;
    for (size_t d = 0; d < spatial; ++d) {
      in.push_back(pick(random, {1, 3, 6}));
      filter.push_back(pick(random, {1, 2, 3, 4}));
      strides.push_back(pick(random, {1, 2, 3}));
      dilations.push_back(pick(random, {1, 1, 2}));
      pads[d] = pick(random, {0, 1});
      pads[spatial + d] = pick(random, {0, 0, 1});
      extra.push_back(strides[d] > 1 ? pick(random, {0, 1}) : 0);
      out.push_back((in.back() - 1) * strides[d] + (filter.back() - 1) * dilations[d] + 1 +
                    extra[d] - pads[d] - pads[spatial + d]);
    }
    if (*std::min_element(out.begin(), out.end()) < 1) {
      continue;
    }
    CAPTURE(i, in, filter, out, groups, strides, dilations, pads);
    Operation deconv{"gr.conv_transpose",
                     {{"strides", strides},
                      {"dilations", dilations},
                      {"pads", pads},
                      {"output_padding", extra},
                      {"groups", groups}},
                     {{ElementType::kF32, out}},
                     {}};
    Tensors inputs = oneOf(in, random);
    inputs.push_back(randomTensor(filter, random));
    if (i % 2 == 0) {
      inputs.push_back(randomTensor({out[1]}, random));
    }
    requireLikeReference(deconv, inputs, {"deconv_product", true, {1, 2}}, kTolerance);
    if (spatial < 3) {
      requireLikeReference(deconv, inputs, {"plane_deconv", false, {1}, true}, kTolerance);
    }
    ++ran;
  }
  CHECK(ran >= 80);
}

TEST_CASE("convolutions in groups are sums of planes") {
  std::mt19937 random(21);
  for (int i = 0; i < 160; ++i) {
    size_t spatial = pick(random, {2, 2, 2, 1}) == 1 ? 1 : 2;
    int64_t groups = pick(random, {2, 3, 5});
    int64_t inGroup = pick(random, {1, 1, 2, 7});
    int64_t outGroup = inGroup == 1 ? pick(random, {1, 1, 2}) : pick(random, {1, 4, 7, 13});
    Dims in = {pick(random, {1, 2}), groups * inGroup};
    Dims filter = {groups * outGroup, inGroup};
    Dims out = {in[0], groups * outGroup};
    Dims strides, dilations, pads(2 * spatial);
    int64_t square = pick(random, {1, 3, 5, 7});
    int64_t step = pick(random, {1, 1, 2, 3});
    for (size_t d = 0; d < spatial; ++d) {
      in.push_back(pick(random, {5, 7, 14, 16, 23, 40}));
      filter.push_back(i % 4 == 0 ? pick(random, {1, 2, 4}) : square);
      strides.push_back(i % 8 == 0 ? pick(random, {1, 2}) : step);
      dilations.push_back(pick(random, {1, 1, 1, 2}));
      pads[d] = square == 1 ? pick(random, {0, 0, 1}) : pick(random, {0, 1, square / 2});
      pads[spatial + d] = pads[d];
      int64_t reach = (filter.back() - 1) * dilations[d];
      int64_t moves = in.back() + 2 * pads[d] - reach - 1;
      out.push_back(moves < 0 ? 0 : moves / strides[d] + 1);
    }
    if (*std::min_element(out.begin(), out.end()) < 1) {
      continue;
    }
    CAPTURE(i, in, filter, out, groups, strides, dilations, pads);
    Operation conv{
        "gr.conv",
        {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"groups", groups}},
        {{ElementType::kF32, out}},
        {}};
    Tensors inputs = oneOf(in, random);
    inputs.push_back(randomTensor(filter, random));
    if (i % 2 == 0) {
      inputs.push_back(randomTensor({out[1]}, random));
    }
    requireLikeReference(conv, inputs, {"plane_conv", false, {1}, true}, kTolerance);
  }
}

TEST_CASE("what is fused behind sums of planes is applied to their rows") {
  std::mt19937 random(22);
  Dims in = {1, 6, 9, 14}, out = {1, 12, 9, 14};
  Tensors inputs = oneOf(in, random);
  inputs.push_back(randomTensor({12, 2, 1, 1}, random));
  Operation conv{"gr.conv", {{"groups", int64_t{3}}}, {{ElementType::kF32, out}}, {}};
  auto plain = runOperation(conv, inputs);
  REQUIRE(plain.ok());
  HostTensor sums = std::move((*plain)[0]);
  std::vector<double> expected = values(sums);
  std::vector<double> channels = values(randomTensor({12}, random));
  std::vector<double> elements = values(randomTensor(out, random));
  auto operand = [](Dims dims) { return Argument{0, {ElementType::kF32, std::move(dims)}}; };
  conv.postOps = {{PostOpKind::kBinaryMul, "", 0, 0, operand({1, 12, 1, 1})},
                  {PostOpKind::kBinaryAdd, "", 0, 0, operand(out)},
                  {PostOpKind::kEltwise, "gr.hard_swish", 0, 0, {}},
                  {PostOpKind::kBinarySub, "", 0, 0, operand({1, 1, 1, 1})},
                  {PostOpKind::kEltwise, "gr.clip", -0.25F, 1.5F, {}}};
  for (size_t i = 0; i < expected.size(); ++i) {
    double x = expected[i] * channels[i / 126] + elements[i];
    x = x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    expected[i] = std::clamp(x - 0.125, -0.25, 1.5);
  }
  inputs.push_back(f32({1, 12, 1, 1}, channels));
  inputs.push_back(f32(out, elements));
  inputs.push_back(f32({1, 1, 1, 1}, {0.125}));
  auto got = runOperation(conv, inputs, {"plane_conv", false, {1}, true});
  INFO(got.status());
  REQUIRE(got.ok());
  CHECK(distance((*got)[0], f32(out, expected)) < kTolerance);

  // A sum with what the result's memory holds.
  conv.postOps = {{PostOpKind::kSum, "", 0, 0, Argument{}}};
  std::vector<double> summed = values(sums);
  std::transform(summed.begin(), summed.end(), elements.begin(), summed.begin(), std::plus<>());
  inputs.resize(2);
  inputs.push_back(f32(out, elements));
  got = runOperation(conv, inputs, {"plane_conv", false, {1}, true});
  INFO(got.status());
  REQUIRE(got.ok());
  CHECK(distance((*got)[0], f32(out, summed)) < kTolerance);
}

TEST_CASE("deformable convolutions are products of what they read") {
  std::mt19937 random(10);
  for (int i = 0; i < 12; ++i) {
    int64_t groups = pick(random, {1, 2});
    int64_t offsetGroups = pick(random, {1, 2});
    int64_t kernel = pick(random, {1, 3});
    Dims in = {pick(random, {1, 2}), 4 * groups, 9, 7};
    Dims filter = {3 * groups, 4, kernel, kernel};
    int64_t elements = kernel * kernel * offsetGroups;
    Dims out = {in[0], filter[0], 9 + 2 - kernel + 1, 7 + 2 - kernel + 1};
    CAPTURE(i, groups, offsetGroups, kernel);
    Tensors inputs = oneOf(in, random);
    inputs.push_back(randomTensor(filter, random));
    inputs.push_back(randomTensor({in[0], 2 * elements, out[2], out[3]}, random, -3, 3));
    if (i % 2 == 0) {
      inputs.push_back(randomTensor({out[1]}, random));
    }
    if (i % 3 == 0) {
      inputs.push_back(randomTensor({in[0], elements, out[2], out[3]}, random));
    }
    Operation deform{
        "gr.deform_conv",
        {{"pads", Dims{1, 1, 1, 1}}, {"groups", groups}, {"offset_groups", offsetGroups}},
        {{ElementType::kF32, out}},
        {}};
    auto expected = runOperation(deform, inputs);
    REQUIRE(expected.ok());
    auto got = runOperation(deform, inputs, {"deform_product", true, {1}});
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(distance((*got)[0], (*expected)[0]) < kTolerance);
  }
}

TEST_CASE("rows become their softmax as the reference does") {
  std::mt19937 random(23);
  for (bool log : {false, true}) {
    for (int64_t width : {1, 3, 16, 17, 100, 1000}) {
      CAPTURE(log, width);
      Tensors inputs;
      inputs.push_back(randomTensor({3, 41, width}, random, -30, 30));
      Operation softmax{"gr.softmax",
                        {{"axis", int64_t{-1}}, {"log", log}},
                        {{ElementType::kF32, {3, 41, width}}},
                        {}};
      check(softmax, inputs, "softmax");
    }
    Tensors images = oneOf({2, 21, 5, 7}, random);
    Operation softmax{"gr.softmax",
                      {{"axis", int64_t{1}}, {"log", log}},
                      {{ElementType::kF32, {2, 21, 5, 7}}},
                      {}};
    check(softmax, images, "softmax", {channelsLast(images[0])});
    // Dense images are laid out anew.
    RunOptions open{"softmax"};
    open.open = true;
    auto got = runOperation(softmax, images, open);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(distance((*got)[0], (*runOperation(softmax, images))[0]) < kTolerance);
  }
}

TEST_CASE("rows of bf16 become their softmax in f32, rounded once") {
  std::mt19937 random(31);
  bool log = GENERATE(false, true);
  for (int64_t width : {1, 3, 17, 1000, 5000}) {
    CAPTURE(log, width);
    Dims dims = {3, 23, width};
    Operation softmax{
        "gr.softmax", {{"axis", int64_t{2}}, {"log", log}}, {{ElementType::kBF16, dims}}, {}};
    Tensors inputs, wide;
    inputs.push_back(tensor(ElementType::kBF16, dims, values(randomTensor(dims, random, -9, 9))));
    wide.push_back(f32(dims, values(inputs[0])));
    auto got = runOperation(softmax, inputs, {"softmax"});
    INFO(got.status());
    REQUIRE(got.ok());
    softmax.outputs[0].type = ElementType::kF32;
    auto expected = runOperation(softmax, wide, {"softmax"});
    REQUIRE(expected.ok());
    CHECK(values((*got)[0]) == values(tensor(ElementType::kBF16, dims, values((*expected)[0]))));
  }
}

TEST_CASE("the exponentials of a softmax are those of gr.exp, to the bit") {
  constexpr int64_t kCount = 3001;
  std::vector<double> x, pairs;
  for (int64_t i = 0; i < kCount; ++i) {
    x.push_back(static_cast<float>(-0.0301 * static_cast<double>(i)));
    pairs.insert(pairs.end(), {0, x.back()});
  }
  Tensors exponents, rows;
  exponents.push_back(f32({kCount}, x));
  rows.push_back(f32({kCount, 2}, pairs));
  auto e = runOperation({"gr.exp", {}, {{ElementType::kF32, {kCount}}}, {}}, exponents);
  auto got =
      runOperation({"gr.softmax", {}, {{ElementType::kF32, {kCount, 2}}}, {}}, rows, {"softmax"});
  REQUIRE(e.ok());
  REQUIRE(got.ok());
  std::vector<double> expected;
  for (double value : values((*e)[0])) {
    auto small = static_cast<float>(value);
    float inverse = 1 / (1 + small);
    expected.insert(expected.end(), {inverse, small * inverse});
  }
  CHECK(values((*got)[0]) == expected);
}

TEST_CASE("the logarithm of a softmax over one element is 0 in each kernel that takes it") {
  std::mt19937 random(29);
  for (ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
    Tensors inputs;
    inputs.push_back(tensor(type, {2, 1, 9}, values(randomTensor({2, 1, 9}, random, -300, 300))));
    for (bool log : {false, true}) {
      Operation softmax{
          "gr.softmax", {{"axis", int64_t{1}}, {"log", log}}, {{type, {2, 1, 9}}}, {}};
      size_t taken = 0;
      for (const char* kernel : {"softmax", "onednn.softmax", "reference"}) {
        CAPTURE(kernel, log, runtime::elementTypeName(type));
        RunOptions options{kernel};
        options.open = true;
        auto got = runOperation(softmax, inputs, options);
        if (absl::IsUnimplemented(got.status())) {
          continue;
        }
        INFO(got.status());
        REQUIRE(got.ok());
        CHECK(values((*got)[0]) == std::vector<double>(18, log ? 0 : 1));
        ++taken;
      }
      CHECK(taken >= 1);
    }
  }
}

TEST_CASE("the softmax of a row keeps to infinities and NaN") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double nan = std::nan("");
  Tensors inputs;
  inputs.push_back(
      f32({3, 3}, {-kInfinity, 0, -kInfinity, -kInfinity, -kInfinity, -kInfinity, 1, nan, 2}));
  Operation softmax{
      "gr.softmax", {{"axis", int64_t{1}}, {"log", false}}, {{ElementType::kF32, {3, 3}}}, {}};
  auto got = runOperation(softmax, inputs, {"softmax"});
  REQUIRE(got.ok());
  std::vector<double> y = values((*got)[0]);
  CHECK(std::vector<double>(y.begin(), y.begin() + 3) == std::vector<double>{0, 1, 0});
  for (size_t i = 3; i < 9; ++i) {
    CHECK(std::isnan(y[i]));
  }
}

}  // namespace graphrun::devices::cpu
