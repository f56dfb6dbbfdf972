#include "tests/ir/gradients/rule_cases.h"

#include "absl/strings/str_cat.h"

namespace graphrun::ir {

std::vector<RuleCase> indexCases() {
  // Some places are named twice.
  const std::string picks = "dense<[[0, 1, 2], [0, -1, 0]]> : tensor<2x3xi64>";
  const std::string columns = "dense<[[0, 1], [2, 2], [-1, 0]]> : tensor<3x2xi32>";
  const std::string vectors = "dense<[[0, 1], [2, 3], [0, 1], [-1, 0]]> : tensor<4x2xi64>";
  const std::string rows = "dense<[[1], [0], [1]]> : tensor<3x1xi64>";
  std::vector<RuleCase> cases = {
      {"gr.gather_elements", {"3x3", picks}, "axis = 0 : i64"},
      {"gr.gather_elements", {"3x4", columns}, "axis = 1 : i64"},
      {"gr.gather_elements", {"1", "dense<[0, 0]> : tensor<2xi64>"}, "axis = 0 : i64"},
      {"gr.gather_nd", {"3x4", vectors}},
      {"gr.gather_nd", {"2x3", rows}},
      {"gr.gather_nd",
       {"2x3x2", "dense<[[[1], [2]], [[0], [0]]]> : tensor<2x2x1xi64>"},
       "batch_dims = 1 : i64"},
      {"gr.gather_nd",
       {"2x2x3", "dense<[[[1], [2]], [[0], [0]]]> : tensor<2x2x1xi32>"},
       "batch_dims = 2 : i64"},
      {"gr.top_k", {"3x5", "dense<2> : tensor<1xi64>"}, "axis = 1 : i64", -2, 2, 2},
      {"gr.top_k",
       {"5x2", "dense<3> : tensor<1xi64>"},
       "axis = 0 : i64, largest = false",
       -2,
       2,
       2},
      {"gr.top_k", {"1", "dense<1> : tensor<1xi64>"}, "axis = 0 : i64", -2, 2, 2},
      {"gr.top_k", {"4", "dense<0> : tensor<1xi64>"}, "axis = 0 : i64", -2, 2, 2},
  };
  for (const char* reduction : {"none", "add", "mul", "min", "max"}) {
    std::string how = absl::StrCat("reduction = \"", reduction, "\"");
    cases.push_back(
        {"gr.scatter_elements", {"3x3", picks, "2x3"}, absl::StrCat(how, ", axis = 0 : i64")});
    cases.push_back(
        {"gr.scatter_elements", {"3x4", columns, "3x2"}, absl::StrCat(how, ", axis = 1 : i64")});
    cases.push_back({"gr.scatter_elements",
                     {"1", "dense<[0]> : tensor<1xi64>", "1"},
                     absl::StrCat(how, ", axis = 0 : i64")});
    cases.push_back({"gr.scatter_nd", {"3x4", vectors, "4"}, how});
    cases.push_back({"gr.scatter_nd", {"2x3", rows, "3x3"}, how});
    cases.push_back({"gr.scatter_nd", {"5", "dense<> : tensor<0x1xi64>", "0"}, how});
  }
  return cases;
}

}  // namespace graphrun::ir
