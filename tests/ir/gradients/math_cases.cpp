#include "tests/ir/gradients/rule_cases.h"

#include "absl/strings/str_cat.h"

namespace graphrun::ir {
namespace {

void addReductions(std::vector<RuleCase>& cases) {
  struct Shape {
    const char *dims, *axes;
  };
  for (const char* kind : {"sum", "mean", "max", "min", "prod", "log_sum_exp"}) {
    for (Shape shape :
         {Shape{"3x4", ": 1"}, Shape{"2x3x5", ": 0, 2"}, Shape{"7", ": 0"}, Shape{"1x1", ": 0, 1"},
          Shape{"2x3", ""}, Shape{"", ""}, Shape{"3x2x2", ": 0, 1, 2"}, Shape{"0x3", ": 1"}}) {
      for (const char* keepdims : {"true", "false"}) {
        cases.push_back({"gr.reduce",
                         {shape.dims},
                         absl::StrCat("kind = \"", kind, "\", axes = array<i64", shape.axes,
                                      ">, keepdims = ", keepdims)});
      }
    }
  }
}

void addCumulatives(std::vector<RuleCase>& cases) {
  for (const char* kind : {"sum", "prod"}) {
    for (const char* exclusive : {"true", "false"}) {
      for (const char* reverse : {"true", "false"}) {
        std::string attributes =
            absl::StrCat("kind = \"", kind, "\", exclusive = ", exclusive, ", reverse = ", reverse);
        for (const char* dims : {"2x5", "3x1", "3x2x3", "0x3"}) {
          cases.push_back({"gr.cumulative", {dims, "dense<1> : tensor<i64>"}, attributes});
        }
        cases.push_back({"gr.cumulative", {"4x3", "dense<-2> : tensor<i64>"}, attributes});
      }
    }
  }
}

void addProducts(std::vector<RuleCase>& cases) {
  const std::vector<std::vector<std::string>> plain = {
      {"3x4", "4x2"}, {"2x3x4", "4x5"}, {"3x4", "2x4x5"},  {"2x1x3x2", "3x2x4"}, {"4", "4x3"},
      {"3x4", "4"},   {"4", "4"},       {"2x3x4", "4"},    {"4", "2x4x3"},       {"1x1", "1x1"},
      {"3x0", "0x2"}, {"0x3", "3x2"},   {"2x2x3x1", "1x5"}};
  for (const std::vector<std::string>& operands : plain) {
    cases.push_back({"gr.matmul", operands});
  }
  const std::vector<std::vector<std::string>> left = {
      {"4x3", "4x2"}, {"2x4x3", "4x5"}, {"4x3", "2x4x5"}, {"4x3", "4"}, {"1x1", "1x7"}};
  for (const std::vector<std::string>& operands : left) {
    cases.push_back({"gr.matmul", operands, "transpose_lhs = true"});
  }
  const std::vector<std::vector<std::string>> right = {
      {"3x4", "2x4"}, {"2x3x4", "5x4"}, {"3x4", "2x5x4"}, {"4", "3x4"}, {"1x1", "7x1"}};
  for (const std::vector<std::string>& operands : right) {
    cases.push_back({"gr.matmul", operands, "transpose_rhs = true"});
  }
  for (const std::vector<std::string>& operands : std::vector<std::vector<std::string>>{
           {"4x3", "2x4"}, {"2x4x3", "5x4"}, {"4x3", "2x5x4"}, {"1x3", "2x1"}}) {
    cases.push_back({"gr.matmul", operands, "transpose_lhs = true, transpose_rhs = true"});
  }
  for (const std::vector<std::string>& operands : std::vector<std::vector<std::string>>{
           {"3x4", "2x4"}, {"1x1", "1x1"}, {"5x1", "3x1"}, {"0x2", "3x2"}}) {
    cases.push_back({"gr.squared_distance", operands});
  }
}

}  // namespace

std::vector<RuleCase> mathCases() {
  std::vector<RuleCase> cases;
  addReductions(cases);
  addCumulatives(cases);
  addProducts(cases);
  return cases;
}

}  // namespace graphrun::ir
