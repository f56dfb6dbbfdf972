// Functions of one number over the whole range of their type, on every path, against long double;
// FUNCTIONS.md of devices/cpu says what their errors are.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numbers>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "devices/cpu/element.h"
#include "devices/cpu/instructions.h"
#include "devices/cpu/row_functions.h"
#include "tests/devices/cpu/compiler/compiled.h"
#include "tests/devices/cpu/step_runner.h"

namespace graphrun::devices::cpu {
namespace {

using Number = long double;
constexpr Number kPi = std::numbers::pi_v<Number>;

Number logistic(Number x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

/// x / (1 + e^-y): where y is -infinity, 0 times x.
Number gated(Number x, Number y) { return x * logistic(y); }

Number byTangent(Number x) {
  return gated(x, 2 * std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x));
}

constexpr float kSlope = 1.7F, kGamma = 1.25F;

struct Function {
  std::string name;        ///< as in FUNCTIONS.md and post-ops
  std::string operation;   ///< gr operation
  std::string attributes;  ///< as text
  Attributes step;         ///< the same of a step
  float alpha = 0;         ///< of a post-op
  Number (*exact)(Number);
};

#define GR_EXACT(expression) +[](Number x) -> Number { return expression; }

const std::vector<Function>& functions() {
  static const std::vector<Function> list = {
      {"exp", "gr.exp", "", {}, 0, GR_EXACT(std::exp(x))},
      {"log", "gr.log", "", {}, 0, GR_EXACT(std::log(x))},
      {"tanh", "gr.tanh", "", {}, 0, GR_EXACT(std::tanh(x))},
      {"sigmoid", "gr.sigmoid", "", {}, 0, logistic},
      {"softplus",
       "gr.softplus",
       "",
       {},
       0,
       GR_EXACT(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)))},
      {"swish", "gr.swish", " {alpha = 1.0}", {{"alpha", 1.0}}, 1, GR_EXACT(gated(x, x))},
      {"swish, alpha 1.7",
       "gr.swish",
       " {alpha = 1.7}",
       {{"alpha", 1.7}},
       kSlope,
       GR_EXACT(gated(x, Number{kSlope} * x))},
      {"elu",
       "gr.elu",
       " {alpha = 1.7}",
       {{"alpha", 1.7}},
       kSlope,
       GR_EXACT(x < 0 ? Number{kSlope} * std::expm1(x) : x)},
      {"selu",
       "gr.selu",
       " {alpha = 1.7, gamma = 1.25}",
       {{"alpha", 1.7}, {"gamma", 1.25}},
       kSlope,
       GR_EXACT(Number{kGamma} * (x > 0 ? x : Number{kSlope} * std::expm1(x)))},
      {"erf", "gr.erf", "", {}, 0, GR_EXACT(std::erf(x))},
      {"gelu", "gr.gelu", "", {}, 0, GR_EXACT(x / 2 * std::erfc(-x / std::sqrt(2.0L)))},
      {"gelu_tanh", "gr.gelu", " {approximate = true}", {{"approximate", true}}, 0, byTangent},
      {"sin", "gr.sin", "", {}, 0, GR_EXACT(std::sin(x))},
      {"cos", "gr.cos", "", {}, 0, GR_EXACT(std::cos(x))},
      {"tan", "gr.tan", "", {}, 0, GR_EXACT(std::tan(x))},
      {"asin", "gr.asin", "", {}, 0, GR_EXACT(std::asin(x))},
      {"acos", "gr.acos", "", {}, 0, GR_EXACT(std::acos(x))},
      {"atan", "gr.atan", "", {}, 0, GR_EXACT(std::atan(x))},
      {"sinh", "gr.sinh", "", {}, 0, GR_EXACT(std::sinh(x))},
      {"cosh", "gr.cosh", "", {}, 0, GR_EXACT(std::cosh(x))},
      {"asinh", "gr.asinh", "", {}, 0, GR_EXACT(std::asinh(x))},
      {"acosh", "gr.acosh", "", {}, 0, GR_EXACT(std::acosh(x))},
      {"atanh", "gr.atanh", "", {}, 0, GR_EXACT(std::atanh(x))},
  };
  return list;
}

/// What a type's numbers are.
struct Format {
  ElementType type;
  const char* name;
  int digits;  ///< of a normal number, the hidden one included
  int least;   ///< exponent of the least normal number
  double (*round)(Number);
};

double roundToFloat(Number x) { return static_cast<float>(x); }
double roundToBFloat16(Number x) { return toFloat(toBFloat16(static_cast<float>(x))); }
double roundToHalf(Number x) { return toFloat(toHalf(static_cast<float>(x))); }

constexpr Format kFloat = {ElementType::kF32, "f32", 24, -126, roundToFloat};
constexpr Format kBFloat16 = {ElementType::kBF16, "bf16", 8, -126, roundToBFloat16};
constexpr Format kHalf = {ElementType::kF16, "f16", 11, -14, roundToHalf};

/// What `got` is off by, in units of the last place of the exact result, subnormal ones' where it
/// is that small; infinite where one is no number, infinite or of another sign and the other not.
double unitsOff(const Format& format, double got, Number exact) {
  double nearest = format.round(exact);
  if (!std::isfinite(nearest) || !std::isfinite(got)) {
    bool same = std::isnan(nearest) ? std::isnan(got) : got == nearest;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  if (std::signbit(got) != std::signbit(nearest)) {
    return std::numeric_limits<double>::infinity();
  }
  int exponent = exact == 0 ? format.least : std::max(std::ilogb(exact), format.least);
  return static_cast<double>(std::fabs(got - exact) *
                             std::exp2(Number(format.digits - 1 - exponent)));
}

/// All numbers of 16 bits; of f32 the special ones, both ends of each binade and some in it.
std::vector<double> numbersOf(const Format& format) {
  std::vector<double> list;
  if (format.type == ElementType::kF32) {
    constexpr uint64_t kStep = 65521;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kStep) {
      list.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    for (uint32_t binade = 0; binade < 512; ++binade) {
      for (uint32_t fraction : {0U, 1U, 0x400000U, 0x7fffffU}) {
        list.push_back(std::bit_cast<float>(binade << 23 | fraction));
      }
    }
    for (int i = -40000; i <= 40000; ++i) {
      list.push_back(static_cast<float>(i * 3.1e-4));  // where functions bend
    }
    return list;
  }
  for (uint32_t bits = 0; bits < 1U << 16; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    list.push_back(format.type == ElementType::kF16 ? toFloat(Half{half})
                                                    : toFloat(BFloat16{half}));
  }
  return list;
}

std::vector<double> valuesOf(const absl::StatusOr<Tensors>& results) {
  REQUIRE(results.status().ToString() == "OK");
  return values((*results)[0]);
}

/// What the function in `text` gives.
std::vector<double> run(const std::string& text, const Tensors& inputs) {
  Executable executable = compiled(text);
  executable.fingerprint = testDevice().fingerprint();
  return valuesOf(runExecutable(executable, inputs));
}

std::vector<double> generated(const Function& f, const Format& format, const Tensors& inputs) {
  std::string type = absl::StrCat("tensor<", inputs[0].spec().dims[0], "x", format.name, ">");
  return run(
      absl::StrCat("func.func @f(%x: ", type, ") -> ", type, " {\n  %0 = ", f.operation, " %x",
                   f.attributes, " : (", type, ") -> ", type, "\n  return %0 : ", type, "\n}"),
      inputs);
}

std::vector<double> referenced(const Function& f, const Format& format, const Tensors& inputs) {
  Operation operation{f.operation, f.step, {{format.type, inputs[0].spec().dims}}, {}};
  return valuesOf(runOperation(operation, inputs));
}

/// Behind a product with 1 that the library computes.
std::vector<double> behindProduct(const Function& f, const Format& format,
                                  const std::vector<double>& x) {
  Dims dims = {static_cast<int64_t>(x.size()), 1};
  Tensors inputs;
  inputs.push_back(tensor(format.type, dims, x));
  inputs.push_back(tensor(format.type, {1, 1}, {1}));
  Operation product{"gr.matmul", {}, {{format.type, dims}}, {}};
  std::string name = f.name == "gelu_tanh" ? f.name : f.operation;
  product.postOps = {{PostOpKind::kEltwise, name, f.alpha, f.name == "selu" ? kGamma : 0, {}}};
  return valuesOf(runOperation(product, inputs, {"onednn.matmul"}));
}

/// The bits are the same, or both are NaN.
bool isSame(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

void requireSame(const std::vector<double>& x, const std::vector<double>& a,
                 const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  size_t apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!isSame(a[i], b[i]) && apart++ == 0) {
      UNSCOPED_INFO("the first of them: f(" << x[i] << ") is " << a[i] << " and " << b[i]);
    }
  }
  CHECK(apart == 0);
}

/// The table of FUNCTIONS.md: errors by function and type.
std::map<std::string, std::vector<double>> publishedErrors() {
  std::ifstream file(FUNCTIONS_TABLE);
  std::map<std::string, std::vector<double>> table;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    double error = 0;
    if (cells.size() < 5 || !absl::SimpleAtod(cells[2], &error)) {
      continue;
    }
    std::vector<double>& row = table[std::string(absl::StripAsciiWhitespace(cells[1]))];
    for (size_t i = 2; i + 1 < cells.size(); ++i) {
      REQUIRE(absl::SimpleAtod(cells[i], &error));
      row.push_back(error);
    }
  }
  return table;
}

/// The largest error of a function, which is the same on all paths.
double errorOf(const Function& f, const Format& format) {
  std::vector<double> x = numbersOf(format);
  Tensors inputs;
  inputs.push_back(tensor(format.type, {static_cast<int64_t>(x.size())}, x));
  std::vector<double> got = generated(f, format, inputs);
  {
    INFO("generated, and by the reference kernel");
    requireSame(x, got, referenced(f, format, inputs));
  }
  // The library has no products of f16, and those of bf16 on some machines only.
  if (format.type == ElementType::kF32 ||
      (format.type == ElementType::kBF16 && multipliesBFloat16())) {
    INFO("generated, and behind a product");
    std::vector<double> behind = behindProduct(f, format, x);
    for (size_t i = 0; i < x.size(); ++i) {
      // A product has no -0, and one of bf16 takes subnormal numbers as 0.
      bool differs = x[i] == 0 || std::fabs(x[i]) < std::numeric_limits<float>::min();
      behind[i] = differs ? got[i] : behind[i];
    }
    requireSame(x, got, behind);
  }
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = unitsOff(format, got[i], f.exact(x[i]));
    if (error > worst) {
      worst = error;
      UNSCOPED_INFO("f(" << x[i] << ") = " << got[i] << " is off by " << error);
    }
  }
  return worst;
}

TEST_CASE("functions are as exact as FUNCTIONS.md says, with the same bits on every path") {
  auto table = publishedErrors();
  CHECK(table.size() == functions().size());
  std::ostringstream measured;
  for (const Function& f : functions()) {
    CAPTURE(f.name);
    REQUIRE(table.contains(f.name));
    std::vector<double> errors;
    for (const Format& format : {kFloat, kBFloat16, kHalf}) {
      CAPTURE(format.name);
      errors.push_back(errorOf(f, format));
      REQUIRE(table[f.name].size() >= errors.size());
      double published = table[f.name][errors.size() - 1];
      CHECK(errors.back() <= published);
      CHECK(errors.back() >= published - 0.35);  // what is said is not far from what is
    }
    measured << "| " << f.name << " | " << errors[0] << " | " << errors[1] << " | " << errors[2]
             << " |\n";
  }
  std::printf("%s", measured.str().c_str());
}

/// A chain of operations on 16 bits, as a function of the gr dialect.
std::string chain(const std::string& type, bool grouped) {
  std::string unary = absl::StrCat(" : (", type, ") -> ", type, "\n");
  std::string binary = absl::StrCat(" : (", type, ", ", type, ") -> ", type, "\n");
  std::string body = absl::StrCat("%1 = gr.mul %a, %b", binary, "%2 = gr.add %1, %a", binary,
                                  "%3 = gr.tanh %2", unary, "%4 = gr.exp %3", unary,
                                  "%5 = gr.div %4, %b", binary, "%6 = gr.gelu %5", unary);
  std::string arguments = absl::StrCat("%a: ", type, ", %b: ", type);
  if (!grouped) {
    return absl::StrCat("func.func @f(", arguments, ") -> ", type, " {\n", body,
                        "return %6 : ", type, "\n}");
  }
  return absl::StrCat("func.func @f(%x: ", type, ", %y: ", type, ") -> ", type,
                      " {\n%0 = gr.group (%x, %y) attributes {kind = \"map\"} {\n^bb0(", arguments,
                      "):\n", body, "gr.yield %6 : ", type, "\n}", binary, "return %0 : ", type,
                      "\n}");
}

TEST_CASE("a group gives the bits of its operations one by one") {
  std::string type = GENERATE(as<std::string>(), "f32", "f16", "bf16");
  ElementType element = type == "f32"   ? ElementType::kF32
                        : type == "f16" ? ElementType::kF16
                                        : ElementType::kBF16;
  constexpr int64_t kCount = 4099;
  std::mt19937 random(11);
  Tensors inputs;
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(tensor(element, {kCount}, values(randomTensor({kCount}, random, -4, 4))));
  }
  std::string tensorType = absl::StrCat("tensor<", kCount, "x", type, ">");
  std::vector<double> alone = run(chain(tensorType, false), inputs);
  std::vector<double> together = run(chain(tensorType, true), inputs);
  CAPTURE(type);
  requireSame(values(inputs[0]), alone, together);
}

}  // namespace
}  // namespace graphrun::devices::cpu
