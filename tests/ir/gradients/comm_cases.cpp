#include "tests/ir/gradients/rule_cases.h"

#include "absl/strings/str_cat.h"

namespace graphrun::ir {

std::vector<RuleCase> commCases() {
  std::vector<RuleCase> cases;
  for (const char* kind : {"sum", "mean", "max", "min", "prod"}) {
    std::string how = absl::StrCat("kind = \"", kind, "\"");
    cases.push_back({"gr.all_reduce", {"2x3", "2x3"}, how, -2, 2, 2});
    cases.push_back({"gr.all_reduce", {"5", "5", "5"}, how, -2, 2, 3});
    cases.push_back({"gr.all_reduce", {"", ""}, how, -2, 2, 2});
    cases.push_back(
        {"gr.reduce_scatter", {"2x4", "2x4"}, absl::StrCat(how, ", axis = 1 : i64"), -2, 2, 2});
    cases.push_back({"gr.reduce_scatter",
                     {"3x1", "3x1", "3x1"},
                     absl::StrCat(how, ", axis = 0 : i64"),
                     -2,
                     2,
                     3});
  }
  cases.push_back(
      {"gr.reduce_scatter", {"7x0", "7x0"}, "kind = \"sum\", axis = 1 : i64", -2, 2, 2});
  cases.push_back({"gr.all_gather", {"2x3", "2x3"}, "axis = 1 : i64", -2, 2, 2});
  cases.push_back({"gr.all_gather", {"1", "1", "1"}, "axis = 0 : i64", -2, 2, 3});
  cases.push_back({"gr.all_gather", {"0x3", "0x3"}, "axis = 1 : i64", -2, 2, 2});
  return cases;
}

}  // namespace graphrun::ir
