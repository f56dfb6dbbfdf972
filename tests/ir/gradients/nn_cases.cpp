#include "tests/ir/gradients/rule_cases.h"

#include "absl/strings/str_cat.h"

namespace graphrun::ir {
namespace {

void addNormalizations(std::vector<RuleCase>& cases) {
  for (const char* dims : {"2x3x4", "3x3", "1x3x1x5", "0x3x2"}) {
    for (const char* attributes : {"", "epsilon = 0.1 : f64"}) {
      cases.push_back({"gr.batch_norm", {dims, "3", "3", "3", "3"}, attributes, 0.2, 2});
    }
  }
  for (const char* dims : {"2x3x4", "3x3", "1x3x1x5", "4x3x2x1x2"}) {
    for (const char* attributes : {"epsilon = 0.01 : f64", "epsilon = 0.1 : f64"}) {
      cases.push_back({"gr.batch_norm_training", {dims, "3", "3"}, attributes, -2, 2, 3});
    }
  }
  cases.push_back({"gr.batch_norm_training", {"5x1x2", "1", "1"}, "", -2, 2, 3});
  for (const char* dims : {"2x3x4", "1x3x3x2", "2x3x1"}) {
    for (const char* attributes : {"epsilon = 0.01 : f64", "epsilon = 0.1 : f64"}) {
      cases.push_back({"gr.instance_norm", {dims, "3", "3"}, attributes});
    }
  }
  cases.push_back({"gr.layer_norm", {"2x3x4", "4", "4"}});
  cases.push_back({"gr.layer_norm", {"2x3x4", "3x4", "4"}, "axis = 1 : i64, epsilon = 0.1 : f64"});
  cases.push_back({"gr.layer_norm", {"2x3x4", "1"}, "axis = -2 : i64"});
  cases.push_back({"gr.layer_norm", {"5x7", ""}, "axis = 0 : i64"});
  cases.push_back({"gr.layer_norm", {"3x1", "1"}, "epsilon = 0.1 : f64"});
  cases.push_back({"gr.layer_norm", {"0x4", "4"}});
  cases.push_back({"gr.layer_norm", {"2x3x4", "3x4", "3x4"}, "axis = 1 : i64"});
  cases.push_back({"gr.layer_norm", {"2x3x4", "2x3x4"}, "axis = 0 : i64, epsilon = 0.1 : f64"});
  cases.push_back({"gr.layer_norm", {"4x5", "5", "1"}, "axis = -1 : i64"});
  cases.push_back({"gr.lrn", {"2x5x3"}, "size = 3 : i64, alpha = 0.5 : f64, beta = 0.6 : f64"});
  cases.push_back({"gr.lrn", {"1x6x2x2"}, "size = 4 : i64, alpha = 0.9 : f64, bias = 1.5 : f64"});
  cases.push_back({"gr.lrn", {"2x1x1"}, "size = 1 : i64, alpha = 0.9 : f64"});
  cases.push_back({"gr.lrn", {"1x3x2"}, "size = 5 : i64, alpha = 0.5 : f64"});
}

void addSoftmax(std::vector<RuleCase>& cases) {
  for (const char* log : {"log = true", "log = false"}) {
    cases.push_back({"gr.softmax", {"3x5"}, log});
    cases.push_back({"gr.softmax", {"2x3x4"}, absl::StrCat(log, ", axis = 1 : i64")});
    cases.push_back({"gr.softmax", {"7x1"}, log});
    cases.push_back({"gr.softmax", {"0x3"}, log});
    cases.push_back({"gr.softmax", {"4x3"}, absl::StrCat(log, ", axis = 0 : i64")});
  }
}

void addAttention(std::vector<RuleCase>& cases) {
  cases.push_back({"gr.attention", {"1x2x3x4", "1x2x5x4", "1x2x5x3"}, "scale = 0.5 : f64"});
  cases.push_back({"gr.attention", {"2x4x3x2", "2x2x4x2", "2x2x4x3", "3x4"}, "scale = 0.7 : f64"});
  cases.push_back({"gr.attention", {"1x2x4x3", "1x1x4x3", "1x1x4x2"}, "causal = true"});
  cases.push_back({"gr.attention",
                   {"1x2x3x2", "1x2x5x2", "1x2x5x1", "1x2x1x5"},
                   "causal = true, scale = 0.3 : f64"});
  cases.push_back({"gr.attention", {"1x1x1x1", "1x1x1x1", "1x1x1x1"}});
}

}  // namespace

std::vector<RuleCase> nnCases() {
  std::vector<RuleCase> cases;
  addNormalizations(cases);
  addSoftmax(cases);
  addAttention(cases);
  return cases;
}

}  // namespace graphrun::ir
