// Kernels that fill, convert, divide and sum: their PTX interpreted against reference kernels.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/base/reduced.h"
#include "tests/devices/cuda/compiler/operation_case.h"

namespace graphrun::devices::cuda {
namespace {

using runtime::ElementType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("integers are divided towards zero, and no division traps") {
  auto [element, type] = GENERATE(table<std::string, ElementType>({{"i32", ElementType::kI32},
                                                                   {"i64", ElementType::kI64},
                                                                   {"i8", ElementType::kI8},
                                                                   {"ui8", ElementType::kU8}}));
  bool isUnsigned = element == "ui8";
  std::vector<double> left, right;
  for (double x : {0., 1., 6., 7., 100., -1., -6., -7., -100., 127., -128.}) {
    for (double y : {1., 2., 3., 7., 50., -1., -2., -3., -7.}) {
      left.push_back(isUnsigned ? std::fabs(x) : x);
      right.push_back(isUnsigned ? std::fabs(y) : y);
    }
  }
  auto count = static_cast<int64_t>(left.size());
  std::string tensor = absl::StrCat("tensor<", count, "x", element, ">");
  for (const char* op : {"div", "mod {truncate = true}", "mod {truncate = false}"}) {
    cpu::Tensors operands;
    operands.push_back(cpu::tensor(type, {count}, left));
    operands.push_back(cpu::tensor(type, {count}, right));
    check(function(op, {"%a", "%b"}, {tensor, tensor}, {tensor}), 0, true, std::move(operands));
  }
  KernelCase byZero(function("div", {"%a", "%b"}, {tensor, tensor}, {tensor}));
  cpu::Tensors operands;
  operands.push_back(cpu::tensor(type, {count}, left));
  operands.push_back(cpu::tensor(type, {count}, std::vector<double>(left.size(), 0)));
  CHECK(cpu::values(byZero.interpreted(operands)[0]) == std::vector<double>(left.size(), 0));
}

TEST_CASE("what is left of a division of floats is exact") {
  std::vector<double> left, right;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> exponent(-120, 120);
  for (int i = 0; i < 400; ++i) {
    double scale = i % 2 == 0 ? 1 : std::exp2(exponent(random));
    left.push_back(
        static_cast<float>((i % 3 == 0 ? -1 : 1) * scale * std::exp2(exponent(random) / 20)));
    right.push_back(static_cast<float>((i % 5 == 0 ? -1 : 1) * std::exp2(exponent(random) / 20)));
  }
  for (double x : {0., -0., 1., 6., -6., 3.4e38, kInfinity, -kInfinity, kNaN, 1e-45}) {
    for (double y : {0., 1., -3., 1e-40, 3.4e38, kInfinity, -kInfinity, kNaN}) {
      left.push_back(x);
      right.push_back(y);
    }
  }
  auto count = static_cast<int64_t>(left.size());
  std::string tensor = absl::StrCat("tensor<", count, "xf32>");
  std::string truncate = GENERATE("true", "false");
  cpu::Tensors operands;
  operands.push_back(cpu::f32({count}, left));
  operands.push_back(cpu::f32({count}, right));
  check(function(absl::StrCat("mod {truncate = ", truncate, "}"), {"%a", "%b"}, {tensor, tensor},
                 {tensor}),
        0, false, std::move(operands));
}

TEST_CASE("shapes, one value and ranges") {
  check(function("shape {start = 1 : i64, end = -1 : i64}", {"%a"}, {"tensor<2x3x4x5xf32>"},
                 {"tensor<2xi64>"}));
  check(function("shape", {"%a"}, {"tensor<3xi1>"}, {"tensor<1xi64>"}));
  for (auto [value, number] :
       {std::pair("dense<7> : tensor<1xi32>", 7.), std::pair("dense<true> : tensor<1xi1>", 1.),
        std::pair("dense<-1.5> : tensor<1xf16>", -1.5),
        std::pair("dense<0xFF800000> : tensor<1xf32>", -kInfinity)}) {
    std::string element = std::string(value).substr(std::string(value).rfind('x') + 1);
    element.pop_back();
    KernelCase fill(function(absl::StrCat("fill {value = ", value, "}"), {"%s"}, {"tensor<2xi64>"},
                             {absl::StrCat("tensor<33x7x", element, ">")}));
    CHECK(cpu::values(fill.interpreted(fill.operands(1, true))[0]) ==
          std::vector<double>(231, number));
  }
  cpu::Tensors operands;
  operands.push_back(cpu::f32({}, {0.1}));
  operands.push_back(cpu::f32({}, {4}));
  operands.push_back(cpu::f32({}, {0.31}));
  check(function("range", {"%a", "%b", "%d"}, {"tensor<f32>", "tensor<f32>", "tensor<f32>"},
                 {"tensor<13xf32>"}),
        0, false, std::move(operands));
  operands.clear();
  operands.push_back(cpu::i64({}, {7}));
  operands.push_back(cpu::i64({}, {-8}));
  operands.push_back(cpu::i64({}, {-4}));
  check(function("range", {"%a", "%b", "%d"}, {"tensor<i64>", "tensor<i64>", "tensor<i64>"},
                 {"tensor<4xi64>"}),
        0, false, std::move(operands));
}

TEST_CASE("random numbers are the reference's, at any step") {
  for (int64_t step : {int64_t{0}, int64_t{5}, (int64_t{7} << 32) + 9, int64_t{-1}}) {
    cpu::Tensors operands;
    operands.push_back(cpu::i64({1}, {7}));
    operands.push_back(cpu::i64({}, {0}));
    operands[1].as<int64_t>()[0] = step;
    check(function("random {kind = \"uniform\", a = 0.0 : f64, b = 1.0 : f64, seed = 9 : i64, "
                   "to = f32}",
                   {"%c0", "%i"}, {"tensor<1xi64>", "tensor<i64>"}, {"tensor<7xf32>"},
                   ints("%c0", "[7]", 1)),
          0, false, std::move(operands));
  }
}

TEST_CASE("a range of another length than was planned, or without a step, is complained about") {
  auto complaint = [](const std::string& element, std::vector<double> bounds) {
    std::string type = absl::StrCat("tensor<", element, ">");
    KernelCase range(function("range", {"%a", "%b", "%d"}, {type, type, type},
                              {absl::StrCat("tensor<4x", element, ">")}));
    runtime::ElementType kind = element == "i64"   ? runtime::ElementType::kI64
                                : element == "f32" ? runtime::ElementType::kF32
                                                   : runtime::ElementType::kF64;
    cpu::Tensors operands;
    for (double bound : bounds) {
      operands.push_back(cpu::tensor(kind, {}, {bound}));
    }
    range.interpreted(operands);
    return range.error();
  };
  constexpr auto kNone = KernelError{};
  CHECK(complaint("i64", {1, 8, 2}) == kNone);
  CHECK(complaint("i64", {1, 10, 2}) == KernelError::kLength);
  CHECK(complaint("i64", {8, 0, -2}) == kNone);
  CHECK(complaint("i64", {0, 8, -2}) == KernelError::kLength);
  CHECK(complaint("i64", {0, 8, 0}) == KernelError::kDelta);
  CHECK(complaint("f32", {0, 1, 0.25}) == kNone);
  CHECK(complaint("f64", {0, 0.4, 0.1}) == kNone);
  CHECK(complaint("f64", {0, 0.5, 0.1}) == KernelError::kLength);
  CHECK(complaint("f32", {0, 1, 0}) == KernelError::kDelta);
}

TEST_CASE("random numbers are those that every device makes") {
  auto random = [](const std::string& kind, const std::string& to) {
    return function(absl::StrCat("random {kind = \"", kind,
                                 "\", a = -2.0 : f64, b = 3.5 : f64, seed = 123456789012 : i64, to "
                                 "= ",
                                 to, "}"),
                    {"%s"}, {"tensor<2xi64>"}, {absl::StrCat("tensor<25x31x", to, ">")});
  };
  for (const char* to : {"f32", "f16", "bf16", "f64"}) {
    check(random("uniform", to));
  }
  check(random("normal", "f32"), 4e-6);
  check(random("normal", "f16"), 1e-3);
  check(random("normal", "f64"), 1e-14);
}

/// The type and its name in the IR.
struct Reduced {
  ElementType type;
  std::string name;
};
const std::vector<Reduced>& reducedTypes() {
  static const std::vector<Reduced> kTypes = {{ElementType::kF8E4M3FN, "f8E4M3FN"},
                                              {ElementType::kF8E4M3FNUZ, "f8E4M3FNUZ"},
                                              {ElementType::kF8E5M2, "f8E5M2"},
                                              {ElementType::kF8E5M2FNUZ, "f8E5M2FNUZ"},
                                              {ElementType::kF8E8M0, "!gr.f8e8m0"},
                                              {ElementType::kF4E2M1, "!gr.f4e2m1"},
                                              {ElementType::kI4, "i4"},
                                              {ElementType::kU4, "ui4"}};
  return kTypes;
}

/// All codes of a type.
cpu::HostTensor codes(ElementType type) {
  cpu::HostTensor tensor(runtime::TensorSpec{type, {256}});
  for (int i = 0; i < 256; ++i) {
    static_cast<uint8_t*>(tensor.data())[i] =
        static_cast<uint8_t>(i & ((1 << runtime::elementTypeInfo(type).bits) - 1));
  }
  return tensor;
}

TEST_CASE("elements of reduced types become those of others") {
  for (const Reduced& from : reducedTypes()) {
    for (const char* to : {"f32", "f16", "bf16", "f64", "i32", "i1", "f8E5M2", "ui4"}) {
      if (to == from.name) {
        continue;
      }
      cpu::Tensors operands;
      operands.push_back(codes(from.type));
      check(function(absl::StrCat("cast {to = ", to, "}"), {"%a"},
                     {absl::StrCat("tensor<256x", from.name, ">")},
                     {absl::StrCat("tensor<256x", to, ">")}),
            0, false, std::move(operands));
    }
  }
}

/// What is half way between two, nearly so, too large, too small, and no number.
std::vector<double> hardNumbers() {
  std::vector<double> values = {0,   -0., kInfinity, -kInfinity, kNaN,  448,  464,  465,
                                240, 248, 57344,     61440,      61441, 3e38, 1e-40};
  for (int exponent = -22; exponent < 18; ++exponent) {
    for (int sixteenth = 16; sixteenth < 32; ++sixteenth) {
      double value = std::ldexp(sixteenth, exponent - 4);
      for (double near : {value, value * (1 + 0x1p-20), value * (1 - 0x1p-20)}) {
        values.push_back(near);
        values.push_back(-near);
      }
    }
  }
  return values;
}

TEST_CASE("numbers become elements of reduced types") {
  std::vector<double> values = hardNumbers();
  auto count = static_cast<int64_t>(values.size());
  for (const Reduced& to : reducedTypes()) {
    for (const char* attributes :
         {"", ", saturate = false", ", round_mode = \"down\"", ", round_mode = \"nearest\""}) {
      bool isRounded = std::string(attributes).find("round") != std::string::npos;
      if (isRounded && to.type != ElementType::kF8E8M0) {
        continue;
      }
      for (auto part : {count, count / 4 * 4}) {  // element by element, and words of bytes
        cpu::Tensors operands;
        operands.push_back(cpu::f32({part}, {values.begin(), values.begin() + part}));
        check(function(absl::StrCat("cast {to = ", to.name, attributes, "}"), {"%a"},
                       {absl::StrCat("tensor<", part, "xf32>")},
                       {absl::StrCat("tensor<", part, "x", to.name, ">")}),
              0, false, std::move(operands));
      }
    }
    for (const char* from : {"i32", "ui8", "f16", "i1"}) {
      for (int part : {50, 52}) {
        check(function(absl::StrCat("cast {to = ", to.name, "}"), {"%a"},
                       {absl::StrCat("tensor<", part, "x", from, ">")},
                       {absl::StrCat("tensor<", part, "x", to.name, ">")}),
              0, true);
      }
    }
  }
}

TEST_CASE("bits are taken as another type") {
  check(function("bitcast {to = i32}", {"%a"}, {"tensor<70xf32>"}, {"tensor<70xi32>"}));
  check(function("bitcast {to = f16}", {"%a"}, {"tensor<70xui16>"}, {"tensor<70xf16>"}), 0, true);
  check(function("bitcast {to = i1}", {"%a"}, {"tensor<70xui8>"}, {"tensor<70xi1>"}), 0, true);
  cpu::Tensors operands;
  operands.push_back(codes(ElementType::kU4));
  check(function("bitcast {to = !gr.f4e2m1}", {"%a"}, {"tensor<256xui4>"},
                 {"tensor<256x!gr.f4e2m1>"}),
        0, false, std::move(operands));
}

TEST_CASE("the position of a window's largest element") {
  std::string reversed = GENERATE("true", "false");
  check(function(absl::StrCat("max_pool_with_indices {kernel = array<i64: 3, 2>, strides = "
                              "array<i64: 2, 2>, dilations = array<i64: 1, 2>, pads = array<i64: "
                              "1, 0, 1, 1>, column_major = ",
                              reversed, "}"),
                 {"%a"}, {"tensor<2x3x7x8xf32>"}, {"tensor<2x3x4x4xf32>", "tensor<2x3x4x4xi64>"}),
        0, true);
}

TEST_CASE("blocks are added up at their positions") {
  check(function("col2im {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads = "
                 "array<i64: 1, 0, 0, 1>}",
                 {"%a", "%c0", "%c1"}, {"tensor<2x18x12xf32>", "tensor<2xi64>", "tensor<2xi64>"},
                 {"tensor<2x3x5x7xf32>"}, ints("%c0", "[5, 7]", 2) + ints("%c1", "[2, 3]", 2)),
        1e-6);
  CHECK(whyDeclined(
            function("col2im {strides = array<i64: 1>, dilations = array<i64: 1>, pads = "
                     "array<i64: 0, 0>}",
                     {"%a", "%c0", "%c1"}, {"tensor<1x6x4xf32>", "tensor<1xi64>", "tensor<1xi64>"},
                     {"tensor<1x3x7xf32>"}, ints("%c0", "[7]", 1) + ints("%c1", "[2]", 1))) ==
        "gr.col2im has a block, an image and a number of columns that do not fit each other");
}

TEST_CASE("squares of distances") {
  check(function("squared_distance", {"%a", "%b"}, {"tensor<13x40xf32>", "tensor<9x40xf32>"},
                 {"tensor<13x9xf32>"}),
        1e-5);
}

}  // namespace
}  // namespace graphrun::devices::cuda
