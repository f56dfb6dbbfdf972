#include <catch2/catch.hpp>
#include "absl/strings/match.h"

#include "tests/devices/cpu/instruction_runner.h"
#include "tests/devices/cpu/vision_cases.h"

namespace graphrun::devices::cpu {
namespace {

/// The operands of a case: images of `type`, positions as i64.
Tensors operandsOf(const NnCase& c, ElementType type) {
  Tensors inputs;
  bool col2im = c.operation == "gr.col2im";
  bool roiAlign = c.operation == "gr.roi_align";
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    bool index = (col2im && i > 0) || (roiAlign && i == 2);
    inputs.push_back(
        tensor(index ? ElementType::kI64 : type, c.inputs[i].first, c.inputs[i].second));
  }
  return inputs;
}

std::vector<double> upTo(int count) {
  std::vector<double> x;
  for (int i = 1; i <= count; ++i) {
    x.push_back(i);
  }
  return x;
}

}  // namespace

TEST_CASE("vision operations give the values of ONNX's reference") {
  for (const NnCase& c : kVisionCases) {
    for (ElementType type : {ElementType::kF32, ElementType::kF64}) {
      CAPTURE(c.operation, &c - kVisionCases.data(), runtime::elementTypeName(type));
      auto got = runOperation({c.operation, c.attributes, {{type, c.outputDims}}, {}},
                              operandsOf(c, type));
      INFO(got.status());
      REQUIRE(got.ok());
      CHECK(distance((*got)[0], tensor(type, c.outputDims, c.expected)) < 1e-5);
    }
  }
}

TEST_CASE("a grid samples integers, copied or rounded") {
  Attributes attributes = {
      {"mode", std::string("nearest")}, {"padding", std::string("zeros")}, {"align_corners", true}};
  Tensors inputs;
  inputs.push_back(i64({1, 1, 1, 3}, {7, 8, 9}));
  inputs[0].as<int64_t>()[2] = (int64_t{1} << 60) + 1;  // not a double
  inputs.push_back(f32({1, 1, 3, 2}, {1, 0, -1, 0, 5, 0}));
  Operation operation{"gr.grid_sample", attributes, {{ElementType::kI64, {1, 1, 1, 3}}}, {}};
  auto got = runOperation(operation, inputs);
  REQUIRE(got.ok());
  CHECK((*got)[0].as<int64_t>()[0] == (int64_t{1} << 60) + 1);
  CHECK((*got)[0].as<int64_t>()[1] == 7);
  CHECK((*got)[0].as<int64_t>()[2] == 0);
  operation.attributes["mode"] = std::string("linear");
  inputs[0] = i64({1, 1, 1, 3}, {0, 3, 9});
  inputs[1] = f32({1, 1, 3, 2}, {-0.4F, 0, NAN, 0, INFINITY, 0});
  got = runOperation(operation, inputs);
  REQUIRE(got.ok());
  CHECK(values((*got)[0]) == std::vector<double>{2, 0, 0});  // 1.8 of 3, and nowhere
}

TEST_CASE("a grid samples many points and channels alike in f32 and f64") {
  std::string padding = GENERATE("zeros", "border", "reflection");
  CAPTURE(padding);
  std::vector<double> image(6 * 7 * 9), grid(5 * 10 * 2);
  for (size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<double>(i * 37 % 101) / 16;
  }
  for (size_t i = 0; i < grid.size(); ++i) {
    grid[i] = static_cast<double>(i * 29 % 83) / 32 - 1.25;
  }
  auto sampled = [&](ElementType type) {
    Attributes attributes = {
        {"mode", std::string("linear")}, {"padding", padding}, {"align_corners", false}};
    Tensors inputs;
    inputs.push_back(tensor(type, {1, 6, 7, 9}, image));
    inputs.push_back(tensor(type, {1, 5, 10, 2}, grid));
    auto got = runOperation({"gr.grid_sample", attributes, {{type, {1, 6, 5, 10}}}, {}}, inputs);
    REQUIRE(got.ok());
    return tensor(ElementType::kF64, {1, 6, 5, 10}, values((*got)[0]));
  };
  CHECK(distance(sampled(ElementType::kF32), sampled(ElementType::kF64)) < 1e-5);
}

TEST_CASE("resize antialiases, crops, and keeps the ratio of sides as ONNX's reference does") {
  struct Case {
    std::string mode, coordinates, rounding;
    Attributes more;
    HostTensor scales;
    std::vector<double> roi;
    Dims out;
    std::vector<double> expected;
  };
  auto text = [](const char* s) { return std::string(s); };
  std::vector<double> region = {0, 0, 0.2, 0.3, 1, 1, 0.8, 1.4};
  Case cases[] = {
      {"linear",
       "half_pixel",
       "floor",
       {{"antialias", true}},
       f32({4}, {1, 1, 0.4, 0.6}),
       {},
       {1, 1, 1, 2},
       {4.735, 6.36}},
      {"cubic",
       "half_pixel",
       "floor",
       {{"antialias", true}},
       f32({4}, {1, 1, 0.4, 0.6}),
       {},
       {1, 1, 1, 2},
       {4.54961, 6.31743}},
      {"cubic",
       "asymmetric",
       "floor",
       {{"antialias", true}, {"exclude_outside", true}},
       f32({4}, {1, 1, 0.7, 0.6}),
       {},
       {1, 1, 2, 2},
       {1.50826, 3.07939, 7.00284, 8.57396}},
      {"linear",
       "tf_crop_and_resize",
       "floor",
       {{"extrapolation", 10.0}},
       i64({4}, {1, 1, 3, 3}),
       region,
       {1, 1, 3, 3},
       {3.5, 5.15, 10, 5.9, 7.55, 10, 8.3, 9.95, 10}},
      {"nearest",
       "tf_crop_and_resize",
       "round_prefer_floor",
       {{"extrapolation", 10.0}},
       i64({4}, {1, 1, 1, 5}),
       region,
       {1, 1, 1, 5},
       {6, 7, 8, 10, 10}},
      {"linear",
       "half_pixel",
       "floor",
       {{"policy", text("not_larger")}, {"axes", Dims{0, 1, 2, 3}}},
       i64({4}, {1, 1, 2, 7}),
       {},
       {1, 1, 2, 3},
       {2.25, 3.75, 5, 8.25, 9.75, 11}},
  };
  for (Case& c : cases) {
    CAPTURE(c.mode, c.coordinates);
    Attributes attributes = {
        {"mode", c.mode}, {"coordinates", c.coordinates}, {"rounding", c.rounding}};
    attributes.insert(c.more.begin(), c.more.end());
    Tensors inputs;
    inputs.push_back(f32({1, 1, 3, 4}, upTo(12)));
    inputs.push_back(std::move(c.scales));
    if (!c.roi.empty()) {
      inputs.push_back(f32({8}, c.roi));
    }
    auto got = runOperation({"gr.resize", attributes, {{ElementType::kF32, c.out}}, {}}, inputs);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(distance((*got)[0], f32(c.out, c.expected)) < 1e-5);
  }
}

TEST_CASE("max pooling says where the largest elements are, in either order") {
  Attributes attributes = {{"kernel", Dims{2, 2}}, {"strides", Dims{1, 2}}};
  std::vector<double> x = {1, 5, 3, 3, 2, 9, 4, 0, 6, 2, 2, 2, -1, -2, -3, -4, -1, -7};
  for (ElementType type : {ElementType::kF32, ElementType::kI8, ElementType::kF16}) {
    Operation operation{"gr.max_pool_with_indices",
                        attributes,
                        {{type, {1, 2, 2, 1}}, {ElementType::kI64, {1, 2, 2, 1}}},
                        {}};
    Tensors inputs;
    inputs.push_back(tensor(type, {1, 2, 3, 3}, x));
    auto got = runOperation(operation, inputs);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(values((*got)[0]) == std::vector<double>{5, 4, 2, -1});
    CHECK(values((*got)[1]) == std::vector<double>{1, 6, 9, 12});
    operation.attributes["column_major"] = true;
    got = runOperation(operation, inputs);
    REQUIRE(got.ok());
    CHECK(values((*got)[1]) == std::vector<double>{3, 2, 9, 10});
  }
}

TEST_CASE("regions take the largest element of each part") {
  Tensors inputs;
  inputs.push_back(f32({1, 1, 4, 4}, upTo(16)));
  inputs.push_back(f32({3, 5}, {0, 0, 0, 7, 7, 0, 2, 0, 6, 2, 0, 40, 40, 50, 50}));
  Operation operation{"gr.roi_max_pool",
                      {{"height", int64_t{2}}, {"width", int64_t{2}}, {"scale", 0.5}},
                      {{ElementType::kF32, {3, 1, 2, 2}}},
                      {}};
  auto got = runOperation(operation, inputs);
  REQUIRE(got.ok());
  CHECK(values((*got)[0]) == std::vector<double>{11, 12, 15, 16, 3, 4, 7, 8, 0, 0, 0, 0});
  inputs[1].as<float>()[0] = 1;
  CHECK(absl::StrContains(std::string(runOperation(operation, inputs).status().message()),
                          "an image that is not there"));
}

TEST_CASE("mt19937 draws the numbers of NumPy's RandomState") {
  Attributes attributes = {{"kind", std::string("uniform")},
                           {"a", 0.0},
                           {"b", 1.0},
                           {"seed", int64_t{3}},
                           {"generator", std::string("mt19937")}};
  Operation operation{"gr.random", attributes, {{ElementType::kF64, {5}}}, {}};
  Tensors inputs;
  inputs.push_back(i64({1}, {5}));
  auto got = runOperation(operation, inputs);
  REQUIRE(got.ok());
  CHECK(values((*got)[0]) == std::vector<double>{0.5507979025745755, 0.7081478226181048,
                                                 0.2909047389129443, 0.510827605197663,
                                                 0.8929469543476547});
}

TEST_CASE("vision operations of wrong shapes or operands are refused") {
  auto refused = [](const Operation& operation, const Tensors& inputs) {
    return absl::IsInvalidArgument(runOperation(operation, inputs).status());
  };
  Tensors grid;
  grid.push_back(f32({1, 1, 2, 2}, upTo(4)));
  grid.push_back(f32({1, 1, 1, 3}, {0, 0, 0}));
  CHECK(refused({"gr.grid_sample",
                 {{"mode", std::string("linear")}, {"padding", std::string("zeros")}},
                 {{ElementType::kF32, {1, 1, 1, 1}}},
                 {}},
                grid));
  Tensors columns;
  columns.push_back(f32({1, 4, 4}, upTo(16)));
  columns.push_back(i64({2}, {3, 3}));
  columns.push_back(i64({2}, {4, 1}));  // 2 x 2 fits
  CHECK(refused({"gr.col2im",
                 {{"strides", Dims{1, 1}}, {"dilations", Dims{1, 1}}, {"pads", Dims{0, 0, 0, 0}}},
                 {{ElementType::kF32, {1, 1, 3, 3}}},
                 {}},
                columns));
  Tensors regions;
  regions.push_back(f32({1, 1, 2, 2}, upTo(4)));
  regions.push_back(f32({1, 4}, {0, 0, 1e30, 1}));
  regions.push_back(i64({1}, {0}));
  CHECK(refused({"gr.roi_align",
                 {{"kind", std::string("mean")}, {"height", int64_t{1}}, {"width", int64_t{1}}},
                 {{ElementType::kF32, {1, 1, 1, 1}}},
                 {}},
                regions));
}

}  // namespace graphrun::devices::cpu
