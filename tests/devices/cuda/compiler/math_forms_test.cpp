// Functions as kernels for GPUs compute them, without a math library, against their meaning.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/scalar.h"
#include "tests/devices/cuda/compiler/kernel_case.h"
#include "tests/devices/cuda/compiler/ptxas.h"

namespace graphrun::devices::cuda {
namespace {

using cpu::Tensors;

std::string functionOf(const std::string& op, size_t count, int operands) {
  std::string type = absl::StrCat("tensor<", count, "xf32>");
  bool isBinary = operands == 2;
  return absl::StrCat("func.func @f(%x: ", type, isBinary ? absl::StrCat(", %y: ", type) : "",
                      ") -> ", type, " {\n  %0 = gr.", op, " %x", isBinary ? ", %y" : "", " : (",
                      type, isBinary ? absl::StrCat(", ", type) : "", ") -> ", type,
                      "\n  return %0 : ", type, "\n}");
}

/// Relative to 1e-30 or what is expected; equal infinities, and NaN for NaN, count as 0.
double errorOf(double got, double expected) {
  if (std::isnan(expected) || std::isinf(expected)) {
    bool same = std::isnan(expected) ? std::isnan(got) : got == expected;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  return std::abs(got - expected) / std::max(std::abs(expected), 1e-30);
}

/// Checks each element; results beyond f32 are infinite.
void check(const std::string& op, const std::vector<std::vector<double>>& operands,
           double tolerance) {
  CAPTURE(op);
  size_t count = operands[0].size();
  KernelCase map(functionOf(op, count, static_cast<int>(operands.size())));
  Tensors inputs;
  for (const std::vector<double>& values : operands) {
    inputs.push_back(cpu::f32({static_cast<int64_t>(count)}, values));
  }
  Tensors results = map.interpreted(inputs);
  std::vector<double> got = cpu::values(results[0]);
  for (size_t i = 0; i < count; ++i) {
    std::vector<double> x;
    for (const cpu::HostTensor& input : inputs) {
      x.push_back(cpu::values(input)[i]);
    }
    auto expected = static_cast<double>(static_cast<float>(*ir::evaluateFloat(map.op(), x)));
    CAPTURE(i, x, got[i], expected);
    REQUIRE(errorOf(got[i], expected) <= tolerance);
  }
  if (hasPtxas()) {
    requireAssembles(map.ptx(80), 80);
  }
}

/// From `low` to `high` by steps of one size, or by factors where both are positive and `log`.
std::vector<double> numbers(double low, double high, bool log = false) {
  constexpr int kCount = 401;
  std::vector<double> list;
  for (int i = 0; i < kCount; ++i) {
    double part = i / (kCount - 1.0);
    list.push_back(log ? low * std::pow(high / low, part) : low + (high - low) * part);
  }
  return list;
}

std::vector<double> bothSigns(std::vector<double> list) {
  for (size_t i = 0, count = list.size(); i < count; ++i) {
    list.push_back(-list[i]);
  }
  return list;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("hyperbolic functions and their inverses keep their digits, small or large") {
  std::vector<double> all = bothSigns(numbers(1e-6, 88.5, true));
  check("sinh", {all}, 1e-6);
  check("cosh", {all}, 1e-6);
  check("asinh", {bothSigns(numbers(1e-6, 1e30, true))}, 1e-6);
  check("acosh", {numbers(1.001, 1e30, true)}, 1e-6);
  check("atanh", {bothSigns(numbers(1e-6, 0.999, true))}, 1e-6);
  check("sinh", {{0, kInfinity, -kInfinity, kNaN, 100, -100, 89, -89}}, 1e-6);
  check("cosh", {{0, kInfinity, -kInfinity, kNaN, 100, -100, 89, -89}}, 1e-6);
  check("asinh", {{0, kInfinity, -kInfinity, kNaN}}, 1e-6);
  check("acosh", {{1, kInfinity, 0.5, kNaN}}, 1e-6);
  check("atanh", {{0, 1, -1, 2, kNaN}}, 1e-6);
}

TEST_CASE("the tangent") { check("tan", {bothSigns(numbers(0.001, 1.5))}, 2e-6); }

TEST_CASE("powers") {
  std::vector<double> x = numbers(0.01, 50, true);
  for (double exponent : {-3.0, -0.5, 0.5, 1.0, 2.0, 3.0, 7.25}) {
    check("pow", {x, std::vector<double>(x.size(), exponent)}, 5e-6);
  }
  std::vector<double> negative = numbers(-20, -0.5);
  for (double exponent : {-3.0, -2.0, 1.0, 2.0, 5.0, 0.5}) {
    check("pow", {negative, std::vector<double>(negative.size(), exponent)}, 5e-6);
  }
  check("pow",
        {{0, 0, 0, 1, kInfinity, kInfinity, -1, kNaN, 2, 0.5, 1, kNaN},
         {0, 2, -1, kInfinity, 2, -2, kInfinity, 0, kInfinity, kInfinity, kNaN, 1}},
        0);
}

}  // namespace
}  // namespace graphrun::devices::cuda
