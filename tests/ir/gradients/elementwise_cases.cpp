#include "tests/ir/gradients/rule_cases.h"

namespace graphrun::ir {
namespace {

struct Unary {
  const char* op;
  double low, high;
  std::vector<const char*> attributes = {""};
};

const std::vector<Unary> kUnary = {
    {"gr.abs", -2, 2},
    {"gr.neg", -2, 2},
    {"gr.exp", -2, 2},
    {"gr.log", 0.2, 3},
    {"gr.expm1", -2, 2},
    {"gr.log1p", -0.8, 2},
    {"gr.sqrt", 0.2, 3},
    {"gr.reciprocal", 0.3, 3},
    {"gr.erf", -2, 2},
    {"gr.sin", -4, 4},
    {"gr.cos", -4, 4},
    {"gr.tan", -1.2, 1.2},
    {"gr.asin", -0.8, 0.8},
    {"gr.acos", -0.8, 0.8},
    {"gr.atan", -3, 3},
    {"gr.sinh", -2, 2},
    {"gr.cosh", -2, 2},
    {"gr.tanh", -2, 2},
    {"gr.asinh", -2, 2},
    {"gr.acosh", 1.3, 3},
    {"gr.atanh", -0.8, 0.8},
    {"gr.sigmoid", -4, 4},
    {"gr.softplus", -4, 4},
    {"gr.relu", -2, 2},
    {"gr.hard_swish", -5, 5},
    {"gr.leaky_relu", -2, 2, {"", "alpha = 0.3 : f64"}},
    {"gr.swish", -4, 4, {"", "alpha = 1.7 : f64"}},
    {"gr.elu", -2, 2, {"", "alpha = 0.4 : f64"}},
    {"gr.selu", -2, 2, {"", "alpha = 1.2 : f64, gamma = 0.7 : f64"}},
    {"gr.hard_sigmoid", -4, 4, {"", "alpha = 0.3 : f64, beta = 0.4 : f64"}},
    {"gr.gelu", -3, 3, {"", "approximate = true"}},
    {"gr.clip",
     -2,
     2,
     {"low = -0.55 : f64, high = 1.21 : f64", "low = -1.0e300 : f64, high = 0.31 : f64"}},
    {"gr.cast", -2, 2, {"to = f64"}},
};

struct Binary {
  const char* op;
  double low, high;
  std::vector<const char*> attributes = {""};
};

const std::vector<Binary> kBinary = {
    {"gr.add", -2, 2},   {"gr.sub", -2, 2},    {"gr.mul", -2, 2},
    {"gr.div", 0.4, 3},  {"gr.min", -2, 2},    {"gr.max", -2, 2},
    {"gr.prelu", -2, 2}, {"gr.pow", 0.3, 2.5}, {"gr.mod", 0.83, 9.17, {"", "truncate = true"}},
};

/// Equal shapes, broadcasts on either side, one element, none, and odd dims.
const std::vector<std::vector<std::string>> kBroadcasts = {
    {"3x4", "3x4"}, {"3x4", "4"},     {"4", "3x4"},   {"2x1x3", "4x1"}, {"1", "5"},
    {"", "7"},      {"5", ""},        {"", ""},       {"1x1", "1"},     {"0x3", "3"},
    {"3x0", "1"},   {"2x3x5", "3x1"}, {"1x3", "2x3"},
};

}  // namespace

std::vector<RuleCase> elementwiseCases() {
  std::vector<RuleCase> cases;
  for (const Unary& unary : kUnary) {
    for (const char* attributes : unary.attributes) {
      for (const char* dims : {"3x4", "", "1", "7", "2x1x3", "0x3"}) {
        cases.push_back({unary.op, {dims}, attributes, unary.low, unary.high});
      }
    }
  }
  for (const Binary& binary : kBinary) {
    for (const char* attributes : binary.attributes) {
      for (const std::vector<std::string>& operands : kBroadcasts) {
        cases.push_back({binary.op, operands, attributes, binary.low, binary.high});
      }
    }
  }
  const std::string mask = "dense<[true, false, true]> : tensor<3xi1>";
  for (const std::vector<std::string>& operands : std::vector<std::vector<std::string>>{
           {"3", "3"}, {"2x3", "1"}, {"", "2x1"}, {"4x1", "3"}, {"0x3", "3"}, {"3", ""}}) {
    cases.push_back({"gr.where", {mask, operands[0], operands[1]}});
  }
  return cases;
}

}  // namespace graphrun::ir
