#include <catch2/catch.hpp>
#include <cmath>

#include "devices/cpu/reference/reference.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

using Unary = double (*)(double);

const ElementType kFloats[] = {ElementType::kF64, ElementType::kF32, ElementType::kF16,
                               ElementType::kBF16};
const ElementType kIntegers[] = {ElementType::kI64, ElementType::kI32, ElementType::kI16,
                                 ElementType::kI8,  ElementType::kU64, ElementType::kU32,
                                 ElementType::kU16, ElementType::kU8};

/// Relative error that one rounding to `type` and float arithmetic may leave.
double toleranceOf(ElementType type) {
  return type == ElementType::kBF16  ? 2e-2
         : type == ElementType::kF16 ? 2e-3
         : type == ElementType::kF32 ? 2e-6
                                     : 1e-12;
}

HostTensor run(const std::string& name, const Tensors& inputs, TensorSpec output,
               const Attributes& attributes = {}) {
  auto result = runOperation({name, attributes, {std::move(output)}, {}}, inputs);
  INFO(name << ": " << result.status());
  REQUIRE(result.ok());
  return std::move((*result)[0]);
}

}  // namespace

TEST_CASE("unary functions on every floating-point type") {
  struct Case {
    const char* name;
    Unary function;
    Attributes attributes;
  };
  const Case cases[] = {
      {"gr.abs", [](double x) { return std::fabs(x); }, {}},
      {"gr.neg", [](double x) { return -x; }, {}},
      {"gr.exp", [](double x) { return std::exp(x); }, {}},
      {"gr.log", [](double x) { return std::log(x); }, {}},
      {"gr.sqrt", [](double x) { return std::sqrt(x); }, {}},
      {"gr.reciprocal", [](double x) { return 1 / x; }, {}},
      {"gr.floor", [](double x) { return std::floor(x); }, {}},
      {"gr.ceil", [](double x) { return std::ceil(x); }, {}},
      {"gr.round", [](double x) { return std::rint(x); }, {}},
      {"gr.sign", [](double x) { return x > 0   ? 1.0
                                        : x < 0 ? -1.0
                                                : 0.0; }, {}},
      {"gr.erf", [](double x) { return std::erf(x); }, {}},
      {"gr.sin", [](double x) { return std::sin(x); }, {}},
      {"gr.cos", [](double x) { return std::cos(x); }, {}},
      {"gr.tan", [](double x) { return std::tan(x); }, {}},
      {"gr.asin", [](double x) { return std::asin(x); }, {}},
      {"gr.acos", [](double x) { return std::acos(x); }, {}},
      {"gr.atan", [](double x) { return std::atan(x); }, {}},
      {"gr.sinh", [](double x) { return std::sinh(x); }, {}},
      {"gr.cosh", [](double x) { return std::cosh(x); }, {}},
      {"gr.asinh", [](double x) { return std::asinh(x); }, {}},
      {"gr.acosh", [](double x) { return std::acosh(x); }, {}},
      {"gr.atanh", [](double x) { return std::atanh(x); }, {}},
      {"gr.tanh", [](double x) { return std::tanh(x); }, {}},
      {"gr.sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, {}},
      {"gr.softplus", [](double x) { return std::log(1 + std::exp(x)); }, {}},
      {"gr.relu", [](double x) { return std::fmax(x, 0); }, {}},
      {"gr.hard_swish", [](double x) { return x * std::fmin(1, std::fmax(0, x / 6 + 0.5)); }, {}},
      {"gr.leaky_relu", [](double x) { return x < 0 ? 0.25 * x : x; }, {{"alpha", 0.25}}},
      {"gr.swish", [](double x) { return x / (1 + std::exp(-0.5 * x)); }, {{"alpha", 0.5}}},
      {"gr.elu", [](double x) { return x < 0 ? 0.5 * (std::exp(x) - 1) : x; }, {{"alpha", 0.5}}},
      {"gr.selu",
       [](double x) { return x > 0 ? 1.5 * x : 1.5 * 2.0 * (std::exp(x) - 1); },
       {{"alpha", 2.0}, {"gamma", 1.5}}},
      {"gr.hard_sigmoid",
       [](double x) { return std::fmax(0, std::fmin(1, 0.25 * x + 0.5)); },
       {{"alpha", 0.25}, {"beta", 0.5}}},
      {"gr.gelu", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }, {}},
      {"gr.gelu",
       [](double x) {
         return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       },
       {{"approximate", true}}},
      {"gr.clip",
       [](double x) { return std::fmin(std::fmax(x, -1), 1.5); },
       {{"low", -1.0}, {"high", 1.5}}},
  };
  // All exact in bf16, halves included so that rounding to even shows.
  const std::vector<double> x = {-3.5, -2.5, -1.5, -0.5, 0.5, 1, 1.5, 2.5, 3.25, 6};
  for (const Case& c : cases) {
    for (ElementType type : kFloats) {
      CAPTURE(c.name, runtime::elementTypeName(type));
      HostTensor got = run(c.name, list(tensor(type, {2, 5}, x)), {type, {2, 5}}, c.attributes);
      std::vector<double> y = values(got);
      for (size_t i = 0; i < x.size(); ++i) {
        double expected = c.function(x[i]);
        CAPTURE(x[i]);
        if (std::isnan(expected)) {
          CHECK(std::isnan(y[i]));
        } else {
          CHECK(y[i] == Approx(expected).epsilon(toleranceOf(type)).margin(toleranceOf(type)));
        }
      }
    }
  }
}

TEST_CASE("binary functions on every numeric type") {
  using Binary = double (*)(double, double);
  const std::pair<const char*, Binary> cases[] = {
      {"gr.add", [](double x, double y) { return x + y; }},
      {"gr.sub", [](double x, double y) { return x - y; }},
      {"gr.mul", [](double x, double y) { return x * y; }},
      {"gr.min", [](double x, double y) { return x < y ? x : y; }},
      {"gr.max", [](double x, double y) { return x > y ? x : y; }},
      {"gr.div", [](double x, double y) { return x / y; }},
      {"gr.pow", [](double x, double y) { return std::pow(x, y); }},
      {"gr.prelu", [](double x, double y) { return x < 0 ? x * y : x; }},
  };
  const std::vector<double> x = {9, 7, 4, 5, 3, 8};
  const std::vector<double> y = {2, 1, 3};
  std::vector<ElementType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  for (const auto& [name, function] : cases) {
    for (ElementType type : types) {
      CAPTURE(name, runtime::elementTypeName(type));
      HostTensor got =
          run(name, list(tensor(type, {2, 3}, x), tensor(type, {3}, y)), {type, {2, 3}});
      std::vector<double> z = values(got);
      for (size_t i = 0; i < x.size(); ++i) {
        double expected = function(x[i], y[i % 3]);
        if (!runtime::isFloat(type)) {
          expected = std::trunc(expected);
          // 8^3 and 7 * … leave the 8-bit types: they wrap.
          double range = std::ldexp(1, 8 * static_cast<int>(runtime::elementSize(type)));
          double z2 = std::fmod(z[i] + range, range);
          CHECK(z2 == std::fmod(expected + range, range));
        } else {
          CHECK(z[i] == Approx(expected).epsilon(toleranceOf(type)));
        }
      }
    }
  }
}

TEST_CASE("operands broadcast on both sides, and empty tensors are fine") {
  HostTensor got =
      run("gr.sub", list(f32({2, 1, 3}, {1, 2, 3, 4, 5, 6}), f32({4, 1}, {10, 20, 30, 40})),
          {ElementType::kF32, {2, 4, 3}});
  std::vector<double> z = values(got);
  for (size_t i = 0; i < 24; ++i) {
    size_t left = i / 12 * 3 + i % 3 + 1;
    size_t right = 10 * (i / 3 % 4 + 1);
    CHECK(z[i] == static_cast<double>(left) - static_cast<double>(right));
  }
  HostTensor scalar = run("gr.add", list(f32({}, {2}), f32({}, {3})), {ElementType::kF32, {}});
  CHECK(values(scalar) == std::vector<double>{5});
  HostTensor empty =
      run("gr.add", list(f32({0, 3}, {}), f32({3}, {1, 2, 3})), {ElementType::kF32, {0, 3}});
  CHECK(empty.byteSize() == 0);
}

TEST_CASE("large tensors are computed in several threads, rows or not") {
  std::mt19937 random(3);
  HostTensor x = randomTensor({300, 400}, random);
  HostTensor y = randomTensor({400}, random);
  HostTensor got = run("gr.mul", list(x.clone(), y.clone()), {ElementType::kF32, {300, 400}});
  HostTensor same = run("gr.add", list(x.clone(), x.clone()), {ElementType::kF32, {300, 400}});
  for (size_t i = 0; i < 120000; ++i) {
    REQUIRE(got.as<float>()[i] == x.as<float>()[i] * y.as<float>()[i % 400]);
    REQUIRE(same.as<float>()[i] == 2 * x.as<float>()[i]);
  }
}

TEST_CASE("integers divide without traps") {
  Operation div{"gr.div", {}, {{ElementType::kI32, {2}}}, {}};
  auto zero = runOperation(
      div, list(tensor(ElementType::kI32, {2}, {1, 2}), tensor(ElementType::kI32, {2}, {1, 0})));
  REQUIRE(!zero.ok());
  CHECK(zero.status().message().find("integer division by zero") != std::string::npos);
  auto smallest = runOperation(div, list(tensor(ElementType::kI32, {2}, {-2147483648.0, -7}),
                                         tensor(ElementType::kI32, {2}, {-1, 2})));
  REQUIRE(smallest.ok());
  CHECK(values((*smallest)[0]) == std::vector<double>{-2147483648.0, -3});
}

TEST_CASE("remainders have the sign of the divisor, or of the dividend when truncated") {
  std::vector<ElementType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(),
               {ElementType::kI64, ElementType::kI32, ElementType::kI16, ElementType::kI8});
  for (ElementType type : types) {
    CAPTURE(runtime::elementTypeName(type));
    auto x = tensor(type, {5}, {-7, 7, -7, 7, 6});
    auto y = tensor(type, {5}, {3, -3, -3, 3, -1});
    CHECK(values(run("gr.mod", list(x.clone(), y.clone()), {type, {5}})) ==
          std::vector<double>{2, -2, -1, 1, 0});
    CHECK(values(run("gr.mod", list(x.clone(), y.clone()), {type, {5}}, {{"truncate", true}})) ==
          std::vector<double>{-1, 1, -1, 1, 0});
  }
  auto unsignedRest =
      run("gr.mod",
          list(tensor(ElementType::kU8, {2}, {250, 9}), tensor(ElementType::kU8, {2}, {7, 10})),
          {ElementType::kU8, {2}});
  CHECK(values(unsignedRest) == std::vector<double>{5, 9});
  auto zero =
      runOperation({"gr.mod", {}, {{ElementType::kI32, {1}}}, {}},
                   list(tensor(ElementType::kI32, {1}, {1}), tensor(ElementType::kI32, {1}, {0})));
  CHECK(!zero.ok());
  auto edges = values(run("gr.mod", list(f32({3}, {1, INFINITY, 1}), f32({3}, {-INFINITY, 2, 0})),
                          {ElementType::kF32, {3}}));
  CHECK(edges[0] == -INFINITY);
  CHECK(std::isnan(edges[1]));
  CHECK(std::isnan(edges[2]));
}

TEST_CASE("bits of every integer type") {
  for (ElementType type : kIntegers) {
    CAPTURE(runtime::elementTypeName(type));
    auto x = tensor(type, {3}, {12, 10, 5});
    auto y = tensor(type, {3}, {10, 3, 2});
    TensorSpec out{type, {3}};
    CHECK(values(run("gr.and", list(x.clone(), y.clone()), out)) == std::vector<double>{8, 2, 0});
    CHECK(values(run("gr.or", list(x.clone(), y.clone()), out)) == std::vector<double>{14, 11, 7});
    CHECK(values(run("gr.xor", list(x.clone(), y.clone()), out)) == std::vector<double>{6, 9, 7});
    auto twice = run("gr.not", list(run("gr.not", list(x.clone()), out)), out);
    CHECK(values(twice) == values(x));
    auto width = static_cast<double>(8 * runtime::elementSize(type));
    auto by = tensor(type, {3}, {1, width, 2});
    CHECK(values(run("gr.shift_left", list(x.clone(), by.clone()), out)) ==
          std::vector<double>{24, 0, 20});
    CHECK(values(run("gr.shift_right", list(x.clone(), by.clone()), out)) ==
          std::vector<double>{6, 0, 1});
  }
  TensorSpec out{ElementType::kI8, {3}};
  auto negative = tensor(ElementType::kI8, {3}, {-5, -5, -128});
  auto by = tensor(ElementType::kI8, {3}, {1, -1, 100});
  CHECK(values(run("gr.shift_right", list(negative.clone(), by.clone()), out)) ==
        std::vector<double>{-3, -1, -1});
  CHECK(values(run("gr.shift_left", list(negative.clone(), by.clone()), out)) ==
        std::vector<double>{-10, 0, 0});
}

TEST_CASE("comparisons and logic give bool") {
  const double nan = std::nan("");
  auto x = f32({4}, {1, 2, nan, 3});
  auto y = f32({4}, {2, 2, nan, 1});
  TensorSpec out{ElementType::kBool, {4}};
  CHECK(values(run("gr.equal", list(x.clone(), y.clone()), out)) ==
        std::vector<double>{0, 1, 0, 0});
  CHECK(values(run("gr.less", list(x.clone(), y.clone()), out)) == std::vector<double>{1, 0, 0, 0});
  CHECK(values(run("gr.less_equal", list(x.clone(), y.clone()), out)) ==
        std::vector<double>{1, 1, 0, 0});
  auto p = tensor(ElementType::kBool, {4}, {0, 0, 1, 1});
  auto q = tensor(ElementType::kBool, {4}, {0, 1, 0, 1});
  CHECK(values(run("gr.and", list(p.clone(), q.clone()), out)) == std::vector<double>{0, 0, 0, 1});
  CHECK(values(run("gr.or", list(p.clone(), q.clone()), out)) == std::vector<double>{0, 1, 1, 1});
  CHECK(values(run("gr.xor", list(p.clone(), q.clone()), out)) == std::vector<double>{0, 1, 1, 0});
  CHECK(values(run("gr.not", list(p.clone()), out)) == std::vector<double>{1, 1, 0, 0});
  CHECK(values(run("gr.equal", list(p.clone(), q.clone()), out)) ==
        std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("NaN wins minimum and maximum, and passes through relu and clip") {
  const double nan = std::nan("");
  TensorSpec out{ElementType::kF32, {2}};
  CHECK(std::isnan(values(run("gr.min", list(f32({2}, {nan, 1}), f32({2}, {1, nan})), out))[0]));
  CHECK(std::isnan(values(run("gr.max", list(f32({2}, {nan, 1}), f32({2}, {1, nan})), out))[1]));
  CHECK(std::isnan(values(run("gr.relu", list(f32({2}, {nan, 1})), out))[0]));
}

TEST_CASE("where selects, for every element size") {
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kF16, ElementType::kU8}) {
    Tensors inputs = list(tensor(ElementType::kBool, {2, 1}, {1, 0}), tensor(type, {3}, {1, 2, 3}));
    inputs.push_back(tensor(type, {}, {9}));
    CHECK(values(run("gr.where", inputs, {type, {2, 3}})) == std::vector<double>{1, 2, 3, 9, 9, 9});
  }
}

TEST_CASE("casts between all types") {
  std::vector<ElementType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  types.push_back(ElementType::kBool);
  for (ElementType from : types) {
    for (ElementType to : types) {
      CAPTURE(runtime::elementTypeName(from), runtime::elementTypeName(to));
      std::vector<double> x = values(tensor(from, {3}, {0, 1, 100}));
      HostTensor got = run("gr.cast", list(tensor(from, {3}, x)), {to, {3}});
      std::vector<double> expected = x;
      for (double& e : expected) {
        e = to == ElementType::kBool ? (e != 0 ? 1 : 0) : e;
      }
      CHECK(values(got) == expected);
    }
  }
  // Towards zero, saturating, NaN to 0.
  HostTensor edge = run("gr.cast", list(f32({5}, {-1.9, 1.9, 1e20, -1e20, std::nan("")})),
                        {ElementType::kI32, {5}});
  CHECK(values(edge) == std::vector<double>{-1, 1, 2147483647, -2147483648.0, 0});
}

TEST_CASE("half and bfloat16 round to nearest even and keep subnormals") {
  std::vector<double> x = {65504,     65519,       65520,       0x1p-24, 0x1p-25,
                           0x1.8p-25, 1 + 0x1p-11, 1 + 0x3p-11, -0x1p-14};
  HostTensor half = run("gr.cast", list(f32({9}, x)), {ElementType::kF16, {9}});
  CHECK(values(half) ==
        std::vector<double>{65504, 65504, INFINITY, 0x1p-24, 0, 0x1p-24, 1, 1 + 0x1p-9, -0x1p-14});
  HostTensor brain =
      run("gr.cast", list(f32({3}, {1 + 0x1p-8, 1 + 0x3p-8, 3e38})), {ElementType::kBF16, {3}});
  CHECK(values(brain)[0] == 1);
  CHECK(values(brain)[1] == 1 + 0x1p-6);
}

TEST_CASE("shapes and types that do not fit are refused when the kernel is made") {
  auto refused = [](const std::string& name, Tensors inputs, TensorSpec out) {
    auto result = runOperation({name, {}, {std::move(out)}, {}}, inputs);
    return absl::IsInvalidArgument(result.status());
  };
  CHECK(refused("gr.add", list(f32({2}, {1, 2}), f32({3}, {1, 2, 3})), {ElementType::kF32, {3}}));
  CHECK(refused("gr.add", list(f32({2}, {1, 2}), i64({2}, {1, 2})), {ElementType::kF32, {2}}));
  CHECK(refused("gr.exp", list(i64({2}, {1, 2})), {ElementType::kI64, {2}}));
  CHECK(refused("gr.exp", list(f32({2}, {1, 2})), {ElementType::kF32, {3}}));
  CHECK(refused("gr.and", list(f32({1}, {1}), f32({1}, {1})), {ElementType::kBool, {1}}));
  CHECK(refused("gr.add", list(f32({1}, {1})), {ElementType::kF32, {1}}));
}

TEST_CASE("what the device supports is told by operation and types") {
  const ElementType f[] = {ElementType::kF32, ElementType::kF32};
  const ElementType i[] = {ElementType::kI32, ElementType::kI32};
  const ElementType b[] = {ElementType::kBool};
  CHECK(supportsOperation("gr.add", f, {f, 1}));
  CHECK(supportsOperation("gr.less", i, b));
  CHECK(!supportsOperation("gr.exp", {i, 1}, {i, 1}));
  CHECK(!supportsOperation("gr.add", {f, 1}, {f, 1}));
  CHECK(!supportsOperation("gr.unknown", f, {f, 1}));
}

}  // namespace graphrun::devices::cpu
