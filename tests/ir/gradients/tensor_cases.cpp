#include "tests/ir/gradients/rule_cases.h"

#include "absl/strings/str_cat.h"

namespace graphrun::ir {
namespace {

/// "dense<[1, 2]> : tensor<2xi64>".
std::string ints(const std::vector<int64_t>& values) {
  std::string text = "dense<[";
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", values[i]);
  }
  return absl::StrCat(text, "]> : tensor<", values.size(), "xi64>");
}

void addViews(std::vector<RuleCase>& cases) {
  cases.push_back({"gr.reshape", {"2x6", ints({3, -1})}});
  cases.push_back({"gr.reshape", {"2x6", ints({0, 3, 2})}});
  cases.push_back({"gr.reshape", {"0x3", ints({3, 0})}, "allow_zero = true"});
  cases.push_back({"gr.reshape", {"1", ints({1, 1, 1})}});
  cases.push_back({"gr.squeeze", {"1x3x1"}, "axes = array<i64: 0, 2>"});
  cases.push_back({"gr.squeeze", {"1x3x1"}, "axes = array<i64: 2>"});
  cases.push_back({"gr.squeeze", {"1"}, "axes = array<i64: 0>"});
  cases.push_back({"gr.squeeze", {"0x1"}, "axes = array<i64: 1>"});
  cases.push_back({"gr.unsqueeze", {"3x2"}, "axes = array<i64: 0, 3>"});
  cases.push_back({"gr.unsqueeze", {""}, "axes = array<i64: 0>"});
  cases.push_back({"gr.unsqueeze", {"0x5"}, "axes = array<i64: 1>"});
  cases.push_back({"gr.watch", {"3x2"}});
  cases.push_back({"gr.watch", {""}});
  cases.push_back({"gr.watch", {"0"}});
  cases.push_back({"gr.transpose", {"2x3x5"}, "permutation = array<i64: 2, 0, 1>"});
  cases.push_back({"gr.transpose", {"7x1"}, "permutation = array<i64: 1, 0>"});
  cases.push_back({"gr.transpose", {"2x0x3"}, "permutation = array<i64: 1, 2, 0>"});
  cases.push_back({"gr.transpose", {"2x3x1x2"}, "permutation = array<i64: 3, 1, 2, 0>"});
}

void addJoins(std::vector<RuleCase>& cases) {
  cases.push_back({"gr.concat", {"2x3", "2x1", "2x4"}, "axis = 1 : i64"});
  cases.push_back({"gr.concat", {"2x3", "0x3", "5x3"}, "axis = 0 : i64"});
  cases.push_back({"gr.concat", {"1"}, "axis = 0 : i64"});
  cases.push_back({"gr.split", {"2x6"}, "axis = 1 : i64, sizes = array<i64: 1, 3, 2>", -2, 2, 3});
  cases.push_back({"gr.split", {"5x2"}, "axis = 0 : i64, sizes = array<i64>", -2, 2, 2});
  cases.push_back({"gr.split", {"3x1"}, "axis = 0 : i64, sizes = array<i64: 3, 0>", -2, 2, 2});
  cases.push_back({"gr.split", {"1"}, "axis = 0 : i64, sizes = array<i64>", -2, 2, 1});
}

void addSlices(std::vector<RuleCase>& cases) {
  struct Slice {
    const char* dims;
    std::vector<int64_t> starts, ends, axes, steps;
  };
  for (const Slice& slice : std::vector<Slice>{{"5x4", {1}, {4}, {0}, {1}},
                                               {"5x4", {0, 1}, {5, 4}, {0, 1}, {2, 3}},
                                               {"7", {6}, {INT64_MIN}, {0}, {-1}},
                                               {"7", {-2}, {0}, {0}, {-2}},
                                               {"7", {1}, {100}, {-1}, {3}},
                                               {"8x3", {7, 2}, {1, INT64_MIN}, {0, 1}, {-3, -1}},
                                               {"1", {0}, {1}, {0}, {1}},
                                               {"5x2", {3}, {3}, {0}, {1}},
                                               {"5", {100}, {-100}, {0}, {-4}}}) {
    cases.push_back(
        {"gr.slice",
         {slice.dims, ints(slice.starts), ints(slice.ends), ints(slice.axes), ints(slice.steps)}});
  }
}

void addPads(std::vector<RuleCase>& cases) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    std::string attributes = absl::StrCat("mode = \"", mode, "\"");
    const char* value = mode == std::string("constant") ? "" : "constant ";
    cases.push_back({"gr.pad", {"3x4", ints({1, 2, 0, 3}), value}, attributes});
    cases.push_back({"gr.pad", {"5", ints({3, 4}), value}, attributes});
    cases.push_back({"gr.pad", {"2x3x2", ints({0, 2, 0, 1, 0, 1}), value}, attributes});
    cases.push_back({"gr.pad", {"5x4", ints({-1, 1, 2, -2}), value}, attributes});
  }
  cases.push_back({"gr.pad", {"1", ints({2, 0}), ""}, "mode = \"constant\""});
  cases.push_back({"gr.pad", {"0x2", ints({1, 0, 1, 0}), ""}, "mode = \"constant\""});
  cases.push_back({"gr.pad", {"1x2", ints({2, 0, 1, 0}), "constant "}, "mode = \"edge\""});
}

void addCopies(std::vector<RuleCase>& cases) {
  cases.push_back({"gr.expand", {"3x1", ints({2, 3, 4})}});
  cases.push_back({"gr.expand", {"", ints({5})}});
  cases.push_back({"gr.expand", {"2x3", ints({1, 1})}});
  cases.push_back({"gr.expand", {"1x3", ints({0, 3})}});
  cases.push_back({"gr.tile", {"2x3", ints({2, 3})}});
  cases.push_back({"gr.tile", {"1", ints({7})}});
  cases.push_back({"gr.tile", {"2x1x3", ints({1, 2, 1})}});
  cases.push_back({"gr.tile", {"0x3", ints({2, 2})}});
  cases.push_back({"gr.tile", {"2x3", ints({1, 0})}});
}

}  // namespace

std::vector<RuleCase> tensorCases() {
  std::vector<RuleCase> cases;
  addViews(cases);
  addJoins(cases);
  addSlices(cases);
  addPads(cases);
  addCopies(cases);
  const std::string picks = "dense<[[2, -1], [0, 2]]> : tensor<2x2xi64>";
  cases.push_back({"gr.gather", {"3x2", picks}, "axis = 0 : i64"});
  cases.push_back({"gr.gather", {"2x4x3", picks}, "axis = 1 : i64"});
  cases.push_back({"gr.gather", {"2x5", "dense<4> : tensor<i64>"}, "axis = 1 : i64"});
  cases.push_back({"gr.gather", {"4x1", "dense<[3, 3, 3]> : tensor<3xi32>"}, "axis = 0 : i64"});
  cases.push_back({"gr.gather", {"3x0", picks}, "axis = 0 : i64"});
  return cases;
}

}  // namespace graphrun::ir
