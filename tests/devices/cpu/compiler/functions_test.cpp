// Functions of one number over the whole range of their type, on every path, against long double,
// of f64 against 113 bits; FUNCTIONS.md of devices/cpu says what their errors are.
#include <algorithm>
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
#include "devices/cpu/vectors/element.h"
#include "devices/cpu/vectors/instructions.h"
#include "devices/cpu/vectors/row_functions.h"
#include "tests/devices/cpu/compiler/compiled.h"
#include "tests/devices/cpu/instruction_runner.h"

#ifdef GR_HAS_QUADMATH
using Wide = __float128;
#else
using Wide = long double;  // of 113 bits on machines without libquadmath
#endif

namespace graphrun::devices::cpu {
namespace {

using std::frexp, std::ldexp;
#ifdef GR_HAS_QUADMATH
// Declared here, for not every compiler has the library's header.
extern "C" Wide frexpq(Wide x, int* exponent);
extern "C" Wide ldexpq(Wide x, int exponent);
Wide frexp(Wide x, int* exponent) { return frexpq(x, exponent); }
Wide ldexp(Wide x, int exponent) { return ldexpq(x, exponent); }
#define GR_FUNCTION(name)                  \
  extern "C" Wide name##q(Wide x);         \
  Wide name(Wide x) { return name##q(x); } \
  using std::name
#else
#define GR_FUNCTION(name) using std::name
#endif
#define GR_LIBRARY(Class, name, flops, onnx, since, computed, row) GR_FUNCTION(name);
#include "devices/functions/elementwise.def"
GR_FUNCTION(erfc);
GR_FUNCTION(fabs);
GR_FUNCTION(sqrt);
/// What others are made of, whether it is an operation or none.
namespace parts {
GR_FUNCTION(expm1);
GR_FUNCTION(log1p);
}  // namespace parts
#undef GR_FUNCTION

using Number = long double;

template <typename N>
N pi() {
  return 4 * atan(N{1});
}

template <typename N>
N logistic(N x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

/// x / (1 + e^-y): where y is -infinity, 0 times x.
template <typename N>
N gated(N x, N y) {
  return x * logistic(y);
}

template <typename N>
N byTangent(N x) {
  return gated(x, 2 * sqrt(2 / pi<N>()) * (x + N{44715} / 1000000 * x * x * x));
}

constexpr double kSlope = 1.7, kGamma = 1.25;

struct Function {
  std::string name;        ///< as in FUNCTIONS.md and post-ops
  std::string operation;   ///< gr operation
  std::string attributes;  ///< as text
  Attributes instruction;  ///< the same of an instruction
  double alpha;            ///< of a post-op
  Number (*exact)(Number x, Number alpha);
  Wide (*wide)(Wide x, Wide alpha);  ///< the same
};

#define GR_EXACT(expression)                                            \
  +[]([[maybe_unused]] Number x, [[maybe_unused]] Number a) -> Number { \
    using N [[maybe_unused]] = Number;                                  \
    return expression;                                                  \
  },                                                                    \
      +[]([[maybe_unused]] Wide x, [[maybe_unused]] Wide a) -> Wide {   \
        using N [[maybe_unused]] = Wide;                                \
        return expression;                                              \
      }

const std::vector<Function>& functions() {
  static const std::vector<Function> list = {
#define GR_LIBRARY(Class, name, flops, onnx, since, computed, row) \
  {#name, "gr." #name, "", {}, 0, GR_EXACT(name(x))},
#include "devices/functions/elementwise.def"
      {"sigmoid", "gr.sigmoid", "", {}, 0, GR_EXACT(logistic(x))},
      {"softplus",
       "gr.softplus",
       "",
       {},
       0,
       GR_EXACT(x > 0 ? x + parts::log1p(exp(-x)) : parts::log1p(exp(x)))},
      {"swish", "gr.swish", " {alpha = 1.0}", {{"alpha", 1.0}}, 1, GR_EXACT(gated(x, x))},
      {"swish, alpha 1.7",
       "gr.swish",
       " {alpha = 1.7}",
       {{"alpha", 1.7}},
       kSlope,
       GR_EXACT(gated(x, a * x))},
      {"elu",
       "gr.elu",
       " {alpha = 1.7}",
       {{"alpha", 1.7}},
       kSlope,
       GR_EXACT(x < 0 ? a * parts::expm1(x) : x)},
      {"selu",
       "gr.selu",
       " {alpha = 1.7, gamma = 1.25}",
       {{"alpha", 1.7}, {"gamma", 1.25}},
       kSlope,
       GR_EXACT(N{kGamma} * (x > 0 ? x : a * parts::expm1(x)))},
      {"gelu", "gr.gelu", "", {}, 0, GR_EXACT(x / 2 * erfc(-x / sqrt(N{2})))},
      {"gelu_tanh",
       "gr.gelu",
       " {approximate = true}",
       {{"approximate", true}},
       0,
       GR_EXACT(byTangent(x))},
  };
  return list;
}

/// What a type's numbers are.
struct Format {
  ElementType type;
  const char* name;
  int digits;  ///< of a normal number, the hidden one included
  int least;   ///< exponent of the least normal number
};

constexpr Format kFloat = {ElementType::kF32, "f32", 24, -126};
constexpr Format kBFloat16 = {ElementType::kBF16, "bf16", 8, -126};
constexpr Format kHalf = {ElementType::kF16, "f16", 11, -14};
constexpr Format kDouble = {ElementType::kF64, "f64", 53, -1022};

template <typename N>
double roundTo(const Format& format, N x) {
  switch (format.type) {
    case ElementType::kF64:
      return static_cast<double>(x);
    case ElementType::kF16:
      return toFloat(toHalf(static_cast<float>(x)));
    case ElementType::kBF16:
      return toFloat(toBFloat16(static_cast<float>(x)));
    default:
      return static_cast<float>(x);
  }
}

/// What `got` is off by, in units of the last place of the exact result, subnormal ones' where it
/// is that small; infinite where one is no number, infinite or of another sign and the other not.
template <typename N>
double unitsOff(const Format& format, double got, N exact) {
  double nearest = roundTo(format, exact);
  if (!std::isfinite(nearest) || !std::isfinite(got)) {
    bool same = std::isnan(nearest) ? std::isnan(got) : got == nearest;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  if (std::signbit(got) != std::signbit(nearest)) {
    return std::numeric_limits<double>::infinity();
  }
  int exponent = 0;
  frexp(exact, &exponent);
  exponent = exact == 0 ? format.least : std::max(exponent - 1, format.least);
  return static_cast<double>(ldexp(fabs(got - exact), format.digits - 1 - exponent));
}

/// Both ends of each binade of f64 and some in it, what is near 0 and 1 and multiples of pi / 2,
/// and numbers between which functions bend or vanish.
std::vector<double> doubles() {
  std::vector<double> list;
  constexpr uint64_t kBinade = uint64_t{1} << 52;
  for (uint64_t binade = 0; binade < 4096; ++binade) {
    for (uint64_t fraction : {uint64_t{0}, uint64_t{1}, kBinade / 3, kBinade / 2, kBinade - 1}) {
      list.push_back(std::bit_cast<double>(binade * kBinade + fraction));
    }
  }
  for (int i = -40000; i <= 40000; ++i) {
    list.push_back(i * 3.1e-4);
  }
  for (int i = -20000; i <= 20000; ++i) {
    list.push_back(i * 0.0379);
  }
  for (int power = 1; power <= 53; ++power) {
    for (double one : {-1.0, 1.0}) {
      list.push_back(one + std::ldexp(1.0, -power));
      list.push_back(one - std::ldexp(1.0, -power));
    }
  }
  for (int i = -1000; i <= 1000; ++i) {
    list.push_back(i * (std::numbers::pi / 2));
  }
  return list;
}

/// All numbers of 16 bits; of f32 the special ones, both ends of each binade and some in it.
std::vector<double> numbersOf(const Format& format) {
  std::vector<double> list;
  if (format.type == ElementType::kF64) {
    return doubles();
  }
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
  Operation operation{f.operation, f.instruction, {{format.type, inputs[0].spec().dims}}, {}};
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
  product.postOps = {{PostOpKind::kEltwise,
                      name,
                      static_cast<float>(f.alpha),
                      f.name == "selu" ? static_cast<float>(kGamma) : 0,
                      {}}};
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
  bool isDouble = format.type == ElementType::kF64;
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = isDouble ? unitsOff(format, got[i], f.wide(x[i], f.alpha))
                            : unitsOff(format, got[i], f.exact(x[i], static_cast<float>(f.alpha)));
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
    for (const Format& format : {kFloat, kBFloat16, kHalf, kDouble}) {
      CAPTURE(format.name);
      errors.push_back(errorOf(f, format));
      REQUIRE(table[f.name].size() >= errors.size());
      double published = table[f.name][errors.size() - 1];
      CHECK(errors.back() <= published);
      // What is said is not far from what is, but of f64 the C library may be exacter elsewhere.
      CHECK((format.type == ElementType::kF64 || errors.back() >= published - 0.35));
    }
    measured << "| " << f.name << " | " << errors[0] << " | " << errors[1] << " | " << errors[2]
             << " | " << errors[3] << " |\n";
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
