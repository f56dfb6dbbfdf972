// Functions of f64 as kernels for GPUs compute them, against the C library's of more digits.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/compiler/kernel_case.h"
#include "tests/devices/cuda/compiler/operation_case.h"
#include "tests/devices/cuda/compiler/ptxas.h"

namespace graphrun::devices::cuda {
namespace {

using Limits = std::numeric_limits<double>;
using Numbers = std::vector<double>;

constexpr double kInfinity = Limits::infinity();

/// Values that are special to some function, of both signs.
Numbers specials() {
  Numbers list = {0,
                  Limits::denorm_min(),
                  7 * Limits::denorm_min(),
                  Limits::min(),
                  1e-300,
                  1e-20,
                  Limits::epsilon(),
                  0.5,
                  std::nextafter(0.5, 1),
                  std::nextafter(1.0, 0),
                  1,
                  std::nextafter(1.0, 2),
                  2,
                  3,
                  21.9,
                  22.1,
                  709.7,
                  709.78,
                  710.4,
                  711,
                  745.1,
                  745.2,
                  1e16,
                  1e22,
                  6381956970095103.0 * std::ldexp(1.0, 797),  // the closest to a multiple of pi / 2
                  1e300,
                  Limits::max(),
                  kInfinity};
  for (size_t i = 0, count = list.size(); i < count; ++i) {
    list.push_back(-list[i]);
  }
  list.push_back(Limits::quiet_NaN());
  return list;
}

/// Those, and random numbers of any size below `most`, and of [-most, most].
Numbers numbers(double most, unsigned seed) {
  constexpr int kCount = 600;
  std::mt19937_64 random(seed);
  Numbers list = specials();
  std::uniform_real_distribution<double> part(-1, 1);
  std::uniform_real_distribution<double> logarithm(-40, std::log2(most));
  for (int i = 0; i < kCount; ++i) {
    list.push_back(most * part(random));
    list.push_back(std::copysign(std::exp2(logarithm(random)), part(random)));
  }
  return list;
}

/// In units of the last place of f64, what `got` is off by; infinite where one is no number or
/// infinite and the other is not, or where a zero's sign is another.
double errorOf(double got, long double exact) {
  auto nearest = static_cast<double>(exact);
  if (std::isnan(nearest) || std::isinf(nearest) || std::isinf(got)) {
    return std::isnan(nearest) ? (std::isnan(got) ? 0 : kInfinity) : got == nearest ? 0 : kInfinity;
  }
  if (got == 0 && nearest == 0) {
    return std::signbit(got) == std::signbit(nearest) ? 0 : kInfinity;
  }
  double size = std::max(std::fabs(nearest), Limits::min());
  double unit = std::ldexp(1.0, std::ilogb(size) - 52);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - exact) / unit));
}

using Function = std::function<long double(const std::vector<long double>&)>;

/// Checks that the operation is within `units` of the exact function, element by element.
void requireUnits(const std::string& op, const std::vector<Numbers>& operands, double units,
                  const Function& exact) {
  std::string type = absl::StrCat("tensor<", operands[0].size(), "xf64>");
  std::vector<std::string> names = {"%x", "%y"};
  names.resize(operands.size());
  KernelCase map(function(op, names, std::vector<std::string>(operands.size(), type), {type}));
  cpu::Tensors inputs;
  for (const Numbers& list : operands) {
    inputs.push_back(
        cpu::tensor(runtime::ElementType::kF64, {static_cast<int64_t>(list.size())}, list));
  }
  Numbers got = cpu::values(map.interpreted(inputs)[0]);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    std::vector<long double> x;
    for (const Numbers& list : operands) {
      x.push_back(list[i]);
    }
    double error = errorOf(got[i], exact(x));
    CAPTURE(op, x, got[i], exact(x), error);
    CHECK(error <= units);
    worst = std::max(worst, error);
  }
  UNSCOPED_INFO(op << " is off by up to " << worst);
  CHECK(worst <= units);
  if (hasPtxas()) {
    requireAssembles(map.ptx(80), 80);
  }
}

void requireUnary(const std::string& op, double most, double units,
                  long double (*exact)(long double)) {
  requireUnits(op, {numbers(most, 1)}, units, [&](const auto& x) { return exact(x[0]); });
}

TEST_CASE("exponentials and logarithms of f64 are within a unit in the last place") {
  requireUnary("exp", 750, 1, std::exp);
  requireUnary("log", 1e300, 1, std::log);
  requireUnary("log", 2, 1, std::log);
  requireUnary("erf", 7, 2, std::erf);
}

long double logistic(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

TEST_CASE("activations of f64 keep their digits where plain forms lose them") {
  requireUnary("sigmoid", 750, 3, logistic);
  requireUnary("softplus", 750, 2, [](long double x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  });
  requireUnary("elu {alpha = 1.0 : f64}", 40, 2,
               [](long double x) { return x < 0 ? std::expm1(x) : x; });
  requireUnary("selu {alpha = 1.5 : f64, gamma = 1.25 : f64}", 40, 3,
               [](long double x) { return 1.25L * (x > 0 ? x : 1.5L * std::expm1(x)); });
  requireUnary("swish {alpha = 1.0 : f64}", 750, 4, [](long double x) { return x * logistic(x); });
  requireUnary("swish {alpha = 1.5 : f64}", 500, 4,
               [](long double x) { return x * logistic(1.5L * x); });
  requireUnary("gelu {approximate = false}", 39, 5, [](long double x) {
    return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<long double>);
  });
  requireUnary("gelu {approximate = true}", 23, 4, [](long double x) {
    long double slope = std::sqrt(8 / std::numbers::pi_v<long double>);
    return x * logistic(slope * (x + 0.044715L * x * x * x));
  });
}

TEST_CASE("hyperbolic functions of f64 and their inverses are within two units") {
  requireUnary("sinh", 720, 2, std::sinh);
  requireUnary("cosh", 720, 2, std::cosh);
  requireUnary("tanh", 25, 2, std::tanh);
  requireUnary("asinh", 1e300, 1, std::asinh);
  requireUnary("acosh", 1e300, 1, std::acosh);
  requireUnary("acosh", 3, 1, std::acosh);
  requireUnary("atanh", 1, 1, std::atanh);
}

TEST_CASE("angles of f64 are reduced whatever their size") {
  double most = GENERATE(1.0, 100.0, 1e9, 1e300);
  requireUnary("sin", most, 1, std::sin);
  requireUnary("cos", most, 1, std::cos);
  requireUnary("tan", most, 2, std::tan);
}

TEST_CASE("inverse trigonometric functions of f64 are within a unit") {
  requireUnary("asin", 1, 1, std::asin);
  requireUnary("acos", 1, 1, std::acos);
  requireUnary("atan", 8, 1, std::atan);
  requireUnary("atan", 1e300, 1, std::atan);
}

TEST_CASE("powers of f64 are within a unit and have C's exceptions") {
  Numbers x, y;
  for (double a : specials()) {
    for (double b : {0.0, -0.0, 0.5, -0.5, 1.0, 2.0, 3.0, -1.0, -3.0, 1e17, kInfinity, -kInfinity,
                     Limits::quiet_NaN()}) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> logarithm(-300, 300), size(-700, 700);
  for (int i = 0; i < 1500; ++i) {
    x.push_back(std::exp(logarithm(random) * (i % 2 == 0 ? 1 : 0.01)));
    y.push_back(size(random) / std::log(x.back()));
  }
  requireUnits("pow", {x, y}, 1, [](const auto& v) { return std::pow(v[0], v[1]); });
}

TEST_CASE("rests of f64 are exact") {
  Numbers x, y;
  for (double a : specials()) {
    for (double b : specials()) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937_64 random(4);
  for (int i = 0; i < 600; ++i) {
    uint64_t bits[2] = {random(), random()};
    x.push_back(std::bit_cast<double>(bits[0]));
    y.push_back(std::bit_cast<double>(bits[1]));
  }
  requireUnits("mod {truncate = true}", {x, y}, 0,
               [](const auto& v) { return std::fmod(v[0], v[1]); });
}

TEST_CASE("what is made of functions of f64 is what reference kernels give") {
  std::string type = "tensor<6x37xf64>";
  for (std::string op :
       {"sigmoid", "softplus", "swish {alpha = 1.5 : f64}", "elu {alpha = 1.5 : f64}",
        "gelu {approximate = true}", "gelu {approximate = false}", "softmax {axis = 1 : i64}",
        "softmax {axis = 0 : i64, log = true}"}) {
    check(function(op, {"%x"}, {type}, {type}), 1e-14);
  }
}

TEST_CASE("kernels of other families call functions of f64, too") {
  check(function("lrn {size = 3 : i64, alpha = 0.1 : f64}", {"%a"}, {"tensor<2x7x3x4xf64>"},
                 {"tensor<2x7x3x4xf64>"}),
        1e-14);
}

TEST_CASE("powers of integers wrap, and negative exponents leave 1, -1 or 0") {
  for (std::string element : {"i8", "i16", "i32", "i64"}) {
    std::string type = absl::StrCat("tensor<200x", element, ">");
    check(function("pow", {"%x", "%y"}, {type, type}, {type}), 0, true);
  }
  auto whole = [](const Numbers& list) {
    return cpu::tensor(runtime::ElementType::kI64, {static_cast<int64_t>(list.size())}, list);
  };
  std::string type = "tensor<8xi64>";
  cpu::Tensors operands;
  operands.push_back(whole({2, -2, 3, 10, -1, -1, 0, 7}));
  operands.push_back(whole({62, 63, 41, 18, 1000001, -3, 0, 1e18}));
  check(function("pow", {"%x", "%y"}, {type, type}, {type}), 0, true, std::move(operands));
}

}  // namespace
}  // namespace graphrun::devices::cuda
