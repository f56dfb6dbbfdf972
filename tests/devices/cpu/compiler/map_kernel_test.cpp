// Generated kernels against the meaning of the operations, element by element.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "devices/cpu/base/code_image.h"
#include "devices/cpu/compiler/code_module.h"
#include "ir/dialect.h"
#include "ir/scalar.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

namespace graphrun::devices::cpu {
namespace {

struct Fixture {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Fixture(const std::string& body) {
    context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(body, &context);
    REQUIRE(module);
  }
  /// The first operation of the function that is not a constant.
  mlir::Operation* op() {
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    for (mlir::Operation& op : function.front()) {
      if (!llvm::isa<ir::ConstantOp>(op)) {
        return &op;
      }
    }
    return nullptr;
  }
  /// Compiles the operation and runs all its iterations in two parts.
  void run(std::vector<void*> arguments, std::vector<KernelLayout> layouts = {},
           KernelLayout result = {}) {
    layouts.resize(op()->getNumOperands());
    REQUIRE(whyNotMapKernel(op()).empty());
    CodeModule code(context);
    GeneratedKernel kernel = code.add(op(), layouts, result);
    auto image = code.finish();
    REQUIRE(image.status().ToString() == "OK");
    auto loaded = CodeImage::load(*image);
    REQUIRE(loaded.status().ToString() == "OK");
    GeneratedFunction function = (*loaded)->find(kernel.symbol).value();
    arguments.push_back(kernel.sizes.data());
    function(arguments.data(), 0, kernel.extent / 3);
    function(arguments.data(), kernel.extent / 3, kernel.extent);
    loaded_.push_back(*std::move(loaded));
  }

 private:
  std::vector<std::unique_ptr<CodeImage>> loaded_;
};

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-3, 3);
  std::vector<float> result(count);
  for (float& value : result) {
    value = values(random);
  }
  return result;
}

void checkClose(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    REQUIRE(got[i] == Approx(expected[i]).epsilon(2e-6).margin(2e-6));
  }
}

TEST_CASE("every float unary operation agrees with its meaning") {
  std::string name = GENERATE(
      "abs", "neg", "exp", "sqrt", "reciprocal", "floor", "ceil", "round", "sign", "erf", "sin",
      "cos", "tanh", "sigmoid", "softplus", "relu", "hard_swish", "leaky_relu", "swish", "elu",
      "selu", "hard_sigmoid", "gelu", "gelu {approximate = true}", "clip {low = -0.5, high = 1.25}",
      "log", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh");
  CAPTURE(name);
  std::string op = name.substr(0, name.find(' '));
  std::string attributes = name.size() > op.size() ? name.substr(op.size()) : "";
  Fixture fixture("func.func @f(%x: tensor<5x37xf32>) -> tensor<5x37xf32> {\n  %0 = gr." + op +
                  " %x" + attributes +
                  " : (tensor<5x37xf32>) -> tensor<5x37xf32>\n  return %0 : tensor<5x37xf32>\n}");
  std::vector<float> x = randomFloats(185, 1);
  if (op == "sqrt" || op == "log") {
    for (float& value : x) {
      value = std::abs(value) + 0.01F;
    }
  }
  if (op == "asin" || op == "acos" || op == "atanh") {  // defined up to 1, and hard near it
    for (float& value : x) {
      value = std::clamp(value / 2.99F, -0.999F, 0.999F);
    }
  }
  if (op == "acosh") {
    for (float& value : x) {
      value = std::abs(value) + 1;
    }
  }
  std::vector<float> y(x.size());
  fixture.run({x.data(), y.data()});
  std::vector<double> expected;
  for (float value : x) {
    expected.push_back(*ir::evaluateFloat(fixture.op(), {static_cast<double>(value)}));
  }
  checkClose(y, expected);
}

TEST_CASE("a group broadcasts, transposes and selects") {
  Fixture fixture(
      R"(func.func @f(%x: tensor<2x3x20xf32>, %c: tensor<3x1xf32>, %t: tensor<20x3x2xf32>) -> tensor<2x3x20xf32> {
    %0 = gr.group (%x, %c, %t) attributes {kind = "map"} {
    ^bb0(%a: tensor<2x3x20xf32>, %b: tensor<3x1xf32>, %d: tensor<20x3x2xf32>):
      %k = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
      %1 = gr.transpose %d {permutation = array<i64: 2, 1, 0>} : (tensor<20x3x2xf32>) -> tensor<2x3x20xf32>
      %2 = gr.mul %a, %b : (tensor<2x3x20xf32>, tensor<3x1xf32>) -> tensor<2x3x20xf32>
      %3 = gr.add %2, %1 : (tensor<2x3x20xf32>, tensor<2x3x20xf32>) -> tensor<2x3x20xf32>
      %4 = gr.less %3, %k : (tensor<2x3x20xf32>, tensor<f32>) -> tensor<2x3x20xi1>
      %5 = gr.where %4, %3, %k : (tensor<2x3x20xi1>, tensor<2x3x20xf32>, tensor<f32>) -> tensor<2x3x20xf32>
      gr.yield %5 : tensor<2x3x20xf32>
    } : (tensor<2x3x20xf32>, tensor<3x1xf32>, tensor<20x3x2xf32>) -> tensor<2x3x20xf32>
    return %0 : tensor<2x3x20xf32>
  })");
  std::vector<float> x = randomFloats(120, 2), c = randomFloats(3, 3), t = randomFloats(120, 4);
  std::vector<float> y(120);
  fixture.run({x.data(), c.data(), t.data(), y.data()});
  std::vector<double> expected;
  for (int n = 0; n < 2; ++n) {
    for (int h = 0; h < 3; ++h) {
      for (int w = 0; w < 20; ++w) {
        double sum = double{x[n * 60 + h * 20 + w]} * c[h] + t[w * 6 + h * 2 + n];
        expected.push_back(std::min(sum, 2.0));
      }
    }
  }
  checkClose(y, expected);
}

TEST_CASE("channel blocks keep their padding zero") {
  Fixture fixture(
      R"(func.func @f(%x: tensor<1x20x3x3xf32>, %c: tensor<20x1x1xf32>) -> tensor<1x20x3x3xf32> {
    %0 = gr.group (%x, %c) attributes {kind = "map"} {
    ^bb0(%a: tensor<1x20x3x3xf32>, %b: tensor<20x1x1xf32>):
      %1 = gr.add %a, %b : (tensor<1x20x3x3xf32>, tensor<20x1x1xf32>) -> tensor<1x20x3x3xf32>
      %2 = gr.exp %1 : (tensor<1x20x3x3xf32>) -> tensor<1x20x3x3xf32>
      gr.yield %2 : tensor<1x20x3x3xf32>
    } : (tensor<1x20x3x3xf32>, tensor<20x1x1xf32>) -> tensor<1x20x3x3xf32>
    return %0 : tensor<1x20x3x3xf32>
  })");
  // Two blocks of 16 channels for 20; x is [2][9][16], c is [2][16].
  std::vector<float> x = randomFloats(2 * 9 * 16, 5), c = randomFloats(32, 6), y(2 * 9 * 16, -1);
  KernelLayout blocks{KernelLayout::Order::kChannelBlocks, 16};
  fixture.run({x.data(), c.data(), y.data()}, {blocks, blocks}, blocks);
  std::vector<double> expected;
  for (int block = 0; block < 2; ++block) {
    for (int position = 0; position < 9; ++position) {
      for (int lane = 0; lane < 16; ++lane) {
        int i = (block * 9 + position) * 16 + lane;
        bool inside = block * 16 + lane < 20;
        expected.push_back(inside ? std::exp(double{x[i]} + c[block * 16 + lane]) : 0);
      }
    }
  }
  checkClose(y, expected);
}

TEST_CASE("bounds keep NaN, and a quantisation rounds what lies between bytes") {
  Fixture fixture(
      R"(func.func @f(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
    %s = gr.constant dense<2.5> : tensor<f32> : tensor<f32>
    %0 = gr.group (%x, %s) attributes {kind = "map"} {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<f32>):
      %1 = gr.div %a, %b : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
      %2 = gr.round %1 : (tensor<3x8xf32>) -> tensor<3x8xf32>
      %3 = gr.clip %2 {low = -128.0, high = 127.0} : (tensor<3x8xf32>) -> tensor<3x8xf32>
      gr.yield %3 : tensor<3x8xf32>
    } : (tensor<3x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    return %0 : tensor<3x8xf32>
  })");
  std::vector<float> x = randomFloats(24, 10), y(24);
  std::transform(x.begin(), x.end(), x.begin(), [](float v) { return 150 * v; });
  x[5] = x[23] = NAN;
  fixture.run({x.data(), nullptr, y.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    INFO("element " << i);
    CHECK((std::isnan(x[i]) ? std::isnan(y[i])
                            : y[i] == std::clamp(std::nearbyint(x[i] / 2.5F), -128.F, 127.F)));
  }
}

TEST_CASE("channels last with parameters of a channel") {
  Fixture fixture(
      R"(func.func @f(%x: tensor<2x21x2x3xf32>, %c: tensor<21x1x1xf32>, %g: tensor<2x21x1x1xf32>) -> tensor<2x21x2x3xf32> {
    %0 = gr.group (%x, %c, %g) attributes {kind = "map"} {
    ^bb0(%a: tensor<2x21x2x3xf32>, %b: tensor<21x1x1xf32>, %d: tensor<2x21x1x1xf32>):
      %1 = gr.add %a, %b : (tensor<2x21x2x3xf32>, tensor<21x1x1xf32>) -> tensor<2x21x2x3xf32>
      %2 = gr.mul %1, %d : (tensor<2x21x2x3xf32>, tensor<2x21x1x1xf32>) -> tensor<2x21x2x3xf32>
      gr.yield %2 : tensor<2x21x2x3xf32>
    } : (tensor<2x21x2x3xf32>, tensor<21x1x1xf32>, tensor<2x21x1x1xf32>) -> tensor<2x21x2x3xf32>
    return %0 : tensor<2x21x2x3xf32>
  })");
  std::vector<float> x = randomFloats(252, 7), c = randomFloats(21, 8), g = randomFloats(42, 9);
  std::vector<float> y(252);
  KernelLayout last{KernelLayout::Order::kChannelsLast};
  fixture.run({x.data(), c.data(), g.data(), y.data()}, {last, {}, {}}, last);
  std::vector<double> expected;
  for (int n = 0; n < 2; ++n) {
    for (int position = 0; position < 6; ++position) {
      for (int channel = 0; channel < 21; ++channel) {
        double sum = double{x[(n * 6 + position) * 21 + channel]} + c[channel];
        expected.push_back(sum * g[n * 21 + channel]);
      }
    }
  }
  checkClose(y, expected);
}

TEST_CASE("a slice with a negative step, integers and bools") {
  Fixture fixture(R"(func.func @f(%x: tensor<4x9xi64>) -> tensor<4x5xi1> {
    %s = gr.constant dense<-1> : tensor<1xi64> : tensor<1xi64>
    %e = gr.constant dense<-10> : tensor<1xi64> : tensor<1xi64>
    %a = gr.constant dense<1> : tensor<1xi64> : tensor<1xi64>
    %p = gr.constant dense<-2> : tensor<1xi64> : tensor<1xi64>
    %k = gr.constant dense<6> : tensor<i64> : tensor<i64>
    %0 = gr.group (%x, %s, %e, %a, %p, %k) attributes {kind = "map"} {
    ^bb0(%i: tensor<4x9xi64>, %s1: tensor<1xi64>, %e1: tensor<1xi64>, %a1: tensor<1xi64>, %p1: tensor<1xi64>, %k1: tensor<i64>):
      %1 = gr.slice %i, %s1, %e1, %a1, %p1 : (tensor<4x9xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x5xi64>
      %2 = gr.less %k1, %1 : (tensor<i64>, tensor<4x5xi64>) -> tensor<4x5xi1>
      gr.yield %2 : tensor<4x5xi1>
    } : (tensor<4x9xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<i64>) -> tensor<4x5xi1>
    return %0 : tensor<4x5xi1>
  })");
  std::vector<int64_t> x(36);
  for (int i = 0; i < 36; ++i) {
    x[i] = i % 13;
  }
  std::vector<uint8_t> y(20, 7);
  fixture.run({x.data(), nullptr, nullptr, nullptr, nullptr, nullptr, y.data()});
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 5; ++i) {
      CHECK(y[row * 5 + i] == (x[row * 9 + 8 - 2 * i] > 6 ? 1 : 0));
    }
  }
}

/// A movement of f32 tensors: its text, and where element i of its result comes from.
struct Movement {
  std::string function;
  int64_t in, out;
  std::function<int64_t(int64_t)> source;
};

/// N x C x H x W by blocks of b: the operand's elements by the result's, from positions to
/// channels.
Movement spaceToDepth(int64_t c, int64_t h, int64_t w, int64_t b) {
  auto text = [](std::initializer_list<int64_t> values) {
    return absl::StrCat("tensor<", absl::StrJoin(values, "x"), "xf32>");
  };
  auto shape = [](const char* name, std::initializer_list<int64_t> values) {
    return absl::StrCat("    %", name, " = gr.constant dense<[", absl::StrJoin(values, ", "),
                        "]> : tensor<", values.size(), "xi64> : tensor<", values.size(), "xi64>\n");
  };
  std::string from = text({1, c, h * b, w * b});
  std::string parts = text({1, c, h, b, w, b});
  std::string moved = text({1, b, b, c, h, w});
  std::string to = text({1, b * b * c, h, w});
  std::string body = absl::StrCat(
      "func.func @f(%x: ", from, ") -> ", to, " {\n", shape("p", {1, c, h, b, w, b}),
      shape("q", {1, b * b * c, h, w}),
      "    %0 = gr.group (%x, %p, %q) attributes {kind = \"map\"} {\n    ^bb0(%a: ", from,
      ", %s: tensor<6xi64>, %t: tensor<4xi64>):\n      %1 = gr.reshape %a, %s : (", from,
      ", tensor<6xi64>) -> ", parts,
      "\n      %2 = gr.transpose %1 {permutation = array<i64: 0, 3, 5, 1, 2, 4>} : (", parts,
      ") -> ", moved, "\n      %3 = gr.reshape %2, %t : (", moved, ", tensor<4xi64>) -> ", to,
      "\n      gr.yield %3 : ", to, "\n    } : (", from, ", tensor<6xi64>, tensor<4xi64>) -> ", to,
      "\n    return %0 : ", to, "\n  }");
  int64_t count = c * h * w * b * b;
  return {body, count, count, [=](int64_t i) {
            int64_t x = i % w, y = i / w % h, channel = i / w / h % c, block = i / w / h / c;
            return (channel * h * b + y * b + block / b) * w * b + x * b + block % b;
          }};
}

TEST_CASE("what is moved by parts of dims comes from where it should") {
  auto [channels, height, width, block] = GENERATE(table<int64_t, int64_t, int64_t, int64_t>(
      {{2, 3, 37, 2}, {1, 5, 16, 3}, {3, 2, 7, 4}, {1, 1, 40, 9}, {2, 2, 1, 2}}));
  CAPTURE(channels, height, width, block);
  Movement movement = spaceToDepth(channels, height, width, block);
  Fixture fixture(movement.function);
  std::vector<float> x = randomFloats(static_cast<size_t>(movement.in), 21), y(x.size());
  fixture.run({x.data(), nullptr, nullptr, y.data()});
  for (int64_t i = 0; i < movement.out; ++i) {
    INFO("element " << i);
    REQUIRE(y[static_cast<size_t>(i)] == x[static_cast<size_t>(movement.source(i))]);
  }
}

TEST_CASE("nearest neighbours by whole factors are repeated in any layout") {
  using Order = KernelLayout::Order;
  KernelLayout layout = GENERATE(KernelLayout{}, KernelLayout{Order::kChannelsLast},
                                 KernelLayout{Order::kChannelBlocks, 8});
  auto [height, width] = GENERATE(table<int64_t, int64_t>({{3, 37}, {2, 5}, {1, 1}}));
  int64_t up = GENERATE(2, 3);
  CAPTURE(static_cast<int>(layout.order), height, width, up);
  std::string in = absl::StrCat("tensor<2x12x", height, "x", width, "xf32>");
  std::string out = absl::StrCat("tensor<2x12x", up * height, "x", up * width, "xf32>");
  Fixture fixture(absl::StrCat(
      "func.func @f(%x: ", in, ") -> ", out, " {\n  %s = gr.constant dense<[1.0, 1.0, ", up, ".0, ",
      up,
      ".0]> : tensor<4xf32> : tensor<4xf32>\n  %0 = gr.resize %x scales %s {mode = "
      "\"nearest\", coordinates = \"half_pixel\", rounding = \"round_prefer_floor\"} : (",
      in, ", tensor<4xf32>) -> ", out, "\n  return %0 : ", out, "\n}"));
  bool blocks = layout.order == Order::kChannelBlocks;
  bool last = layout.order == Order::kChannelsLast;
  // Where channel c of a pixel lies; of 12 channels in blocks of 8 the last four are padding.
  auto offsetOf = [&](int64_t n, int64_t c, int64_t pixel, int64_t pixels) {
    return blocks ? ((n * 2 + c / 8) * pixels + pixel) * 8 + c % 8
           : last ? (n * pixels + pixel) * 12 + c
                  : (n * 12 + c) * pixels + pixel;
  };
  int64_t from = height * width;
  int64_t to = from * up * up;
  int64_t channels = blocks ? 16 : 12;
  std::vector<float> x = randomFloats(static_cast<size_t>(2 * channels * from), 22);
  std::vector<float> y(static_cast<size_t>(2 * channels * to), -1);
  fixture.run({x.data(), nullptr, y.data()}, {layout}, layout);
  for (int64_t i = 0; i < 2 * channels * to; ++i) {
    int64_t n = i / to / channels, c = i / to % channels, pixel = i % to;
    int64_t source = pixel / (up * width) / up * width + pixel % (up * width) / up;
    float expected = c < 12 ? x[static_cast<size_t>(offsetOf(n, c, source, from))] : 0.0F;
    REQUIRE(y[static_cast<size_t>(offsetOf(n, c, pixel, to))] == expected);
  }
}

TEST_CASE("channels are shuffled where they lie last") {
  Fixture fixture(R"(func.func @f(%x: tensor<1x42x2x3xf32>) -> tensor<1x42x2x3xf32> {
    %p = gr.constant dense<[1, 2, 21, 2, 3]> : tensor<5xi64> : tensor<5xi64>
    %q = gr.constant dense<[1, 42, 2, 3]> : tensor<4xi64> : tensor<4xi64>
    %0 = gr.group (%x, %p, %q) attributes {kind = "map"} {
    ^bb0(%a: tensor<1x42x2x3xf32>, %s: tensor<5xi64>, %t: tensor<4xi64>):
      %1 = gr.reshape %a, %s : (tensor<1x42x2x3xf32>, tensor<5xi64>) -> tensor<1x2x21x2x3xf32>
      %2 = gr.transpose %1 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x21x2x3xf32>) -> tensor<1x21x2x2x3xf32>
      %3 = gr.reshape %2, %t : (tensor<1x21x2x2x3xf32>, tensor<4xi64>) -> tensor<1x42x2x3xf32>
      gr.yield %3 : tensor<1x42x2x3xf32>
    } : (tensor<1x42x2x3xf32>, tensor<5xi64>, tensor<4xi64>) -> tensor<1x42x2x3xf32>
    return %0 : tensor<1x42x2x3xf32>
  })");
  KernelLayout last{KernelLayout::Order::kChannelsLast};
  CHECK(isVectorMap(fixture.op(), {last, {}, {}}, last));
  std::vector<float> x = randomFloats(252, 23), y(252);
  fixture.run({x.data(), nullptr, nullptr, y.data()}, {last, {}, {}}, last);
  for (int i = 0; i < 252; ++i) {
    int channel = i % 42;
    REQUIRE(y[i] == x[i - channel + channel % 2 * 21 + channel / 2]);
  }
}

TEST_CASE("tensors are tiled, whatever their elements") {
  auto [rows, columns] = GENERATE(table<int64_t, int64_t>({{3, 17}, {2, 2}, {1, 3000}, {5, 1}}));
  CAPTURE(rows, columns);
  std::string in = absl::StrCat("tensor<", rows, "x", columns, "xbf16>");
  std::string out = absl::StrCat("tensor<", 2 * rows, "x", 3 * columns, "xbf16>");
  Fixture fixture(absl::StrCat("func.func @f(%x: ", in, ", %r: tensor<2xi64>) -> ", out,
                               " {\n  %0 = gr.tile %x, %r : (", in, ", tensor<2xi64>) -> ", out,
                               "\n  return %0 : ", out, "\n}"));
  std::vector<uint16_t> x(static_cast<size_t>(rows * columns)), y(6 * x.size());
  std::iota(x.begin(), x.end(), uint16_t{0x7f70});  // NaNs among them, which stay as they are
  fixture.run({x.data(), nullptr, y.data()});
  for (int64_t i = 0; i < 6 * rows * columns; ++i) {
    int64_t row = i / (3 * columns) % rows;
    REQUIRE(y[static_cast<size_t>(i)] == x[static_cast<size_t>(row * columns + i % columns)]);
  }
}

TEST_CASE("two code images of one process stay apart") {
  auto imageOf = [](const std::string& op) {
    Fixture fixture("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = gr." + op +
                    " %x : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}");
    CodeModule code(fixture.context);
    GeneratedKernel kernel = code.add(fixture.op(), {{}}, {});
    auto image = CodeImage::load(code.finish().value());
    REQUIRE(image.ok());
    return std::make_pair(*std::move(image), kernel);
  };
  auto [first, negate] = imageOf("neg");
  auto [second, absolute] = imageOf("abs");
  std::vector<float> x = {-1, -2, 3, -4}, y(4), z(4);
  std::vector<void*> toY = {x.data(), y.data()}, toZ = {x.data(), z.data()};
  first->find(negate.symbol).value()(toY.data(), 0, negate.extent);
  second->find(absolute.symbol).value()(toZ.data(), 0, absolute.extent);
  CHECK(y == std::vector<float>{1, 2, -3, 4});
  CHECK(z == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("16-bit floats are computed in f32 and rounded once") {
  Fixture fixture(R"(func.func @f(%x: tensor<40xbf16>) -> tensor<40xf32> {
    %0 = gr.cast %x {to = f32} : (tensor<40xbf16>) -> tensor<40xf32>
    return %0 : tensor<40xf32>
  })");
  std::vector<uint16_t> x(40);
  for (int i = 0; i < 40; ++i) {
    x[i] = static_cast<uint16_t>(0x3f80 + i);
  }
  std::vector<float> y(40);
  fixture.run({x.data(), y.data()});
  for (int i = 0; i < 40; ++i) {
    CHECK(y[i] == Approx(1 + i / 128.0));
  }
}

TEST_CASE("equal operations share a kernel, whatever they are called and wherever they stand") {
  Fixture fixture(R"(func.func @f(%x: tensor<4xf32>, %z: tensor<4xf32>) {
    %c = gr.constant dense<2.0> : tensor<4xf32> : tensor<4xf32>
    %0 = gr.sub %x, %z {gr.name = "a", gr.rank = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = gr.sub %z, %0 {gr.name = "b", gr.rank = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = gr.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = gr.sub %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = gr.sub %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  })");
  CodeModule code(fixture.context);
  std::vector<std::string> symbols;
  auto function = *fixture.module->getOps<mlir::func::FuncOp>().begin();
  function.walk([&](ir::SubOp op) {
    std::vector<KernelLayout> layouts(2);
    symbols.push_back(code.add(op, layouts, {}).symbol);
  });
  REQUIRE(symbols.size() == 5);
  CHECK(symbols[0] == symbols[1]);
  CHECK(std::set<std::string>(symbols.begin(), symbols.end()).size() == 4);
}

/// x * factor + summand as one group; numbers as the text of their bits.
std::string linear(const std::string& type, const std::string& factor, const std::string& summand) {
  std::string shaped = "tensor<37x" + type + ">", scalar = "tensor<" + type + ">";
  std::string binary = " : (" + shaped + ", " + scalar + ") -> " + shaped + "\n";
  auto constant = [&](const std::string& number) {
    return "gr.constant dense<" + number + "> : " + scalar + " : " + scalar + "\n";
  };
  return "func.func @f(%x: " + shaped + ") -> " + shaped +
         " {\n%0 = gr.group (%x) attributes {kind = \"map\"} {\n^bb0(%a: " + shaped +
         "):\n%k = " + constant(factor) + "%l = " + constant(summand) + "%1 = gr.mul %a, %k" +
         binary + "%2 = gr.add %1, %l" + binary + "gr.yield %2 : " + shaped + "\n} : (" + shaped +
         ") -> " + shaped + "\nreturn %0 : " + shaped + "\n}";
}

std::string symbolOf(const std::string& text) {
  Fixture fixture(text);
  CodeModule code(fixture.context);
  std::vector<KernelLayout> layouts(fixture.op()->getNumOperands());
  return code.add(fixture.op(), layouts, {}).symbol;
}

TEST_CASE("maps that differ in numbers share their code and keep their bits") {
  auto bits = [](float number) {
    return absl::StrFormat("0x%08X", absl::bit_cast<uint32_t>(number));
  };
  constexpr float kHuge = std::numeric_limits<float>::max();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = randomFloats(32, 11);
  x.insert(x.end(), {0.0F, -0.0F, kInfinity, kHuge, kTiny});
  const std::string symbol = symbolOf(linear("f32", bits(3.5F), bits(7)));
  for (auto [factor, summand] : {std::pair(3.5F, -7.25F),
                                 {-0.1F, kTiny},
                                 {kHuge, -kHuge},
                                 {kTiny, 0.7F},
                                 {kInfinity, 2},
                                 {2, -kInfinity}}) {
    Fixture fixture(linear("f32", bits(factor), bits(summand)));
    CHECK(symbolOf(linear("f32", bits(factor), bits(summand))) == symbol);
    std::vector<float> y(37);
    fixture.run({x.data(), y.data()});
    for (size_t i = 0; i < x.size(); ++i) {
      float product = x[i] * factor;
      float expected = product + summand;
      CAPTURE(x[i], factor, summand, y[i]);
      CHECK((absl::bit_cast<uint32_t>(y[i]) == absl::bit_cast<uint32_t>(expected) ||
             (std::isnan(y[i]) && std::isnan(expected))));
    }
  }
  // What is 0 or 1 makes other code.
  CHECK(symbolOf(linear("f32", bits(1), bits(7))) != symbol);
  CHECK(symbolOf(linear("f32", bits(3.5F), bits(0))) != symbol);
}

TEST_CASE("two kernels of one module have numbers of their own, of any type") {
  std::vector<int64_t> x(37), y(37);
  std::iota(x.begin(), x.end(), -18);
  for (int64_t factor : {int64_t{-3}, int64_t{1} << 40}) {
    Fixture fixture(linear("i64", std::to_string(factor), "-5"));
    fixture.run({x.data(), y.data()});
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(y[i] == x[i] * factor - 5);
    }
  }
  std::vector<double> a(37, 0.3), b(37);
  Fixture doubles(linear("f64", "0.1", "1.0e-300"));
  doubles.run({a.data(), b.data()});
  CHECK(b[36] == 0.3 * 0.1 + 1e-300);
  std::vector<uint8_t> p(37, 200), q(37);
  Fixture bytes(linear("ui8", "3", "77"));
  bytes.run({p.data(), q.data()});
  CHECK(q[36] == static_cast<uint8_t>(200 * 3 + 77));
  Fixture both(R"(func.func @f(%x: tensor<37xf32>) {
    %c = gr.constant dense<3.5> : tensor<f32> : tensor<f32>
    %d = gr.constant dense<7.5> : tensor<f32> : tensor<f32>
    %0 = gr.mul %x, %c : (tensor<37xf32>, tensor<f32>) -> tensor<37xf32>
    %1 = gr.mul %x, %d : (tensor<37xf32>, tensor<f32>) -> tensor<37xf32>
    return
  })");
  CodeModule code(both.context);
  std::vector<KernelLayout> layouts(2);
  std::vector<GeneratedKernel> kernels;
  (*both.module->getOps<mlir::func::FuncOp>().begin()).walk([&](ir::MulOp op) {
    kernels.push_back(code.add(op, layouts, {}));
  });
  CHECK(kernels[0].symbol == kernels[1].symbol);
  CHECK(absl::bit_cast<float>(static_cast<uint32_t>(kernels[0].sizes.back())) == 3.5F);
  CHECK(absl::bit_cast<float>(static_cast<uint32_t>(kernels[1].sizes.back())) == 7.5F);
}

TEST_CASE("numbers that shape the code stay in it") {
  auto binary = [](const std::string& op, const std::string& number) {
    return symbolOf("func.func @f(%x: tensor<37xf32>) {\n%c = gr.constant dense<" + number +
                    "> : tensor<f32> : tensor<f32>\n%0 = gr." + op +
                    " %x, %c : (tensor<37xf32>, tensor<f32>) -> tensor<37xf32>\nreturn\n}");
  };
  CHECK(binary("pow", "2.0") != binary("pow", "3.5"));
  CHECK(binary("pow", "2.5") != binary("pow", "3.5"));
  CHECK(binary("div", "4.0") != binary("div", "3.0"));  // a multiplication by 0.25
  CHECK(binary("div", "7.0") == binary("div", "3.0"));
  CHECK(binary("max", "0.0") != binary("max", "3.0"));
  CHECK(binary("max", "-2.0") == binary("max", "3.0"));
}

/// A store that says what was asked of it.
struct MemoryStore : runtime::CodeStore {
  std::map<std::string, std::vector<uint8_t>> kept;
  int found = 0;

  std::optional<absl::Span<const uint8_t>> find(const std::string& name) override {
    auto at = kept.find(name);
    found += at != kept.end();
    return at == kept.end() ? std::nullopt : std::optional(absl::MakeConstSpan(at->second));
  }
  void store(const std::string& name, absl::Span<const uint8_t> code) override {
    kept[name].assign(code.begin(), code.end());
  }
};

TEST_CASE("kernels for other shapes share their code") {
  MemoryStore store;
  auto run = [&](int64_t rows, int64_t columns) {
    auto type = [](int64_t r, int64_t c) {
      return "tensor<2x" + std::to_string(r) + "x" + std::to_string(c) + "xf32>";
    };
    std::string x = type(rows, columns), z = type(rows, 1);
    Fixture fixture("func.func @f(%x: " + x + ", %z: " + z + ") -> " + x +
                    " {\n %0 = gr.mul %x, %z : (" + x + ", " + z + ") -> " + x +
                    "\n return %0 : " + x + "\n}");
    CodeModule code(fixture.context, &store);
    GeneratedKernel kernel = code.add(fixture.op(), {{}, {}}, {});
    auto image = CodeImage::load(code.finish().value());
    REQUIRE(image.ok());
    std::vector<float> in = randomFloats(2 * rows * columns, 1);
    std::vector<float> factor = randomFloats(2 * rows, 2);
    std::vector<float> out(in.size() + 1, 7);
    std::vector<void*> arguments = {in.data(), factor.data(), out.data(), kernel.sizes.data()};
    (*image)->find(kernel.symbol).value()(arguments.data(), 0, kernel.extent);
    for (size_t i = 0; i < in.size(); ++i) {
      REQUIRE(out[i] == in[i] * factor[i / columns]);
    }
    CHECK(out.back() == 7);  // nothing behind the result is written
    return kernel.symbol;
  };
  std::string first = run(100, 75);
  CHECK(store.found == 0);
  CHECK(run(90, 131) == first);
  CHECK(run(300, 20) == first);
  CHECK(store.found == 2);
  CHECK(store.kept.size() == 1);
  CHECK(run(100, 8) != first);  // whole vectors, known as such
}

}  // namespace
}  // namespace graphrun::devices::cpu
