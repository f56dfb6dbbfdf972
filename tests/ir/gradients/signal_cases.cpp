#include "tests/ir/gradients/rule_cases.h"

#include "absl/strings/str_cat.h"

namespace graphrun::ir {
namespace {

void addTransforms(std::vector<RuleCase>& cases) {
  for (const char* attributes :
       {"axis = 1 : i64", "axis = 1 : i64, inverse = true", "axis = 1 : i64, length = 3 : i64",
        "axis = 1 : i64, length = 7 : i64, inverse = true"}) {
    for (const char* dims : {"2x5x2", "1x4x1", "2x1x3x2"}) {
      cases.push_back({"gr.dft", {dims}, attributes});
    }
  }
  for (const char* attributes :
       {"axis = 0 : i64, onesided = true", "axis = 0 : i64, onesided = true, length = 6 : i64"}) {
    for (const char* dims : {"5x1", "4x2x1", "8x1"}) {
      cases.push_back({"gr.dft", {dims}, attributes});
    }
  }
  for (const char* length : {"", ", length = 4 : i64", ", length = 7 : i64"}) {
    for (const char* dims : {"5x2", "3x2x2"}) {
      cases.push_back({"gr.dft",
                       {dims},
                       absl::StrCat("axis = 0 : i64, onesided = true, inverse = true", length)});
    }
  }
}

void addBlocks(std::vector<RuleCase>& cases) {
  auto ints = [](const char* values, int count) {
    return absl::StrCat("dense<[", values, "]> : tensor<", count, "xi64>");
  };
  auto window = [](const char* strides, const char* dilations, const char* pads) {
    return absl::StrCat("strides = array<i64: ", strides, ">, dilations = array<i64: ", dilations,
                        ">, pads = array<i64: ", pads, ">");
  };
  cases.push_back({"gr.col2im",
                   {"2x4x9", ints("4, 4", 2), ints("2, 2", 2)},
                   window("1, 1", "1, 1", "0, 0, 0, 0")});
  cases.push_back({"gr.col2im",
                   {"1x6x4", ints("4, 5", 2), ints("2, 3", 2)},
                   window("2, 1", "1, 2", "1, 0, 0, 1")});
  cases.push_back({"gr.col2im", {"1x2x1", ints("2", 1), ints("2", 1)}, window("1", "1", "0, 0")});
  cases.push_back({"gr.col2im", {"1x3x3", ints("5", 1), ints("3", 1)}, window("2", "1", "1, 1")});
}

void addResizes(std::vector<RuleCase>& cases) {
  struct Mode {
    const char *mode, *coordinates;
  };
  for (Mode mode : {Mode{"nearest", "asymmetric"}, Mode{"linear", "half_pixel"},
                    Mode{"linear", "align_corners"}, Mode{"cubic", "half_pixel"},
                    Mode{"cubic", "pytorch_half_pixel"}}) {
    std::string attributes =
        absl::StrCat("mode = \"", mode.mode, "\", coordinates = \"", mode.coordinates,
                     "\", rounding = \"round_prefer_floor\", operandSegmentSizes = array<i32: 1, ");
    auto sizes = [&](const char* dims, const char* values, int count) {
      cases.push_back({"gr.resize",
                       {dims, absl::StrCat("dense<[", values, "]> : tensor<", count, "xi64>")},
                       absl::StrCat(attributes, "0, 1, 0>")});
    };
    sizes("1x2x3x4", "1, 2, 6, 5", 4);
    sizes("1x1x5x7", "1, 1, 3, 7", 4);
    sizes("1x1x1", "1, 1, 4", 3);
    cases.push_back({"gr.resize",
                     {"1x2x3x5", "dense<[1.0, 1.0, 2.3, 0.7]> : tensor<4xf32>"},
                     absl::StrCat(attributes, "1, 0, 0>")});
  }
  cases.push_back({"gr.resize",
                   {"1x1x7x4", "dense<[1, 1, 3, 9]> : tensor<4xi64>"},
                   "mode = \"linear\", coordinates = \"half_pixel\", rounding = \"floor\", "
                   "antialias = true, operandSegmentSizes = array<i32: 1, 0, 1, 0>"});
}

void addGridSamples(std::vector<RuleCase>& cases) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const char* corners : {"true", "false"}) {
        std::string attributes = absl::StrCat("mode = \"", mode, "\", padding = \"", padding,
                                              "\", align_corners = ", corners);
        // Points lie within the picture and beyond its borders.
        cases.push_back({"gr.grid_sample", {"1x2x3x4", "1x2x2x2"}, attributes, -1.3, 1.3});
        cases.push_back({"gr.grid_sample", {"2x1x5", "2x2x1"}, attributes, -2.5, 2.5});
        cases.push_back({"gr.grid_sample", {"1x1x2x3x2", "1x1x2x1x3"}, attributes, -1.15, 1.15});
      }
    }
  }
}

}  // namespace

std::vector<RuleCase> signalCases() {
  std::vector<RuleCase> cases;
  addTransforms(cases);
  addBlocks(cases);
  addResizes(cases);
  addGridSamples(cases);
  return cases;
}

}  // namespace graphrun::ir
