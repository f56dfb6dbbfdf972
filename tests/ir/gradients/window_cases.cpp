#include "tests/ir/gradients/rule_cases.h"

#include "absl/strings/str_cat.h"

namespace graphrun::ir {
namespace {

/// A window of one or two dims, as attributes.
std::string window(const std::string& strides, const std::string& dilations,
                   const std::string& pads, const std::string& more = "") {
  return absl::StrCat("strides = array<i64: ", strides, ">, dilations = array<i64: ", dilations,
                      ">, pads = array<i64: ", pads, ">", more.empty() ? "" : ", ", more);
}

void addConvolutions(std::vector<RuleCase>& cases) {
  auto conv = [&](std::vector<std::string> operands, const std::string& attributes) {
    cases.push_back({"gr.conv", std::move(operands), attributes});
  };
  conv({"2x3x5x4", "2x3x3x2", "2"}, window("1, 1", "1, 1", "1, 0, 1, 1"));
  conv({"1x2x7x6", "3x2x3x3"}, window("2, 2", "1, 1", "1, 1, 1, 1"));
  conv({"1x2x8x7", "2x2x2x3"}, window("3, 2", "1, 1", "0, 1, 0, 0"));  // some elements are not read
  conv({"1x4x6x6", "4x2x2x2", "4"}, window("2, 1", "2, 2", "1, 0, 0, 2", "groups = 2 : i64"));
  conv({"2x3x7", "6x1x3"}, window("2", "1", "1, 1", "groups = 3 : i64"));
  conv({"1x1x1", "1x1x1", "1"}, window("1", "1", "0, 0"));
  conv({"1x2x5x5", "2x2x3x2"}, window("2, 2", "1, 1", "0, 0, 0, 0", "padding = \"same_upper\""));
  conv({"1x2x5x5", "2x2x2x3"}, window("1, 2", "1, 1", "0, 0, 0, 0", "padding = \"same_lower\""));
  conv({"1x1x2x3x2", "2x1x2x1x2"}, window("1, 1, 1", "1, 1, 1", "0, 0, 0, 1, 0, 1"));
  conv({"0x2x5", "2x2x3"}, window("1", "1", "1, 1"));
  conv({"1x6x5x4", "4x3x2x2"}, window("1, 3", "3, 1", "2, 0, 1, 1", "groups = 2 : i64"));
  conv({"2x4x5x5", "4x1x3x3", "4"}, window("2, 2", "1, 1", "1, 1, 1, 1", "groups = 4 : i64"));
  conv({"1x2x4x3x5", "2x2x2x1x3"}, window("2, 1, 3", "1, 1, 2", "1, 0, 0, 1, 1, 1"));
  conv({"2x1x6", "1x1x2"}, window("3", "2", "0, 0"));  // the last element is not read
  conv({"1x2x6x5", "3x2x3x2"}, window("2, 2", "1, 1", "-1, 0, 0, -1"));
  conv({"1x2x7x6", "2x2x2x2"}, window("3, 2", "2, 2", "0, 0, 0, 0", "padding = \"same_lower\""));
  auto transposed = [&](std::vector<std::string> operands, const std::string& attributes,
                        const std::string& padding, const std::string& shape = "") {
    cases.push_back({"gr.conv_transpose", std::move(operands),
                     absl::StrCat(attributes, ", output_padding = array<i64: ", padding,
                                  ">, output_shape = array<i64", shape, ">")});
  };
  transposed({"2x3x4x3", "3x2x3x2", "2"}, window("1, 1", "1, 1", "1, 0, 0, 1"), "0, 0");
  transposed({"1x2x3x3", "2x2x3x3"}, window("2, 2", "1, 1", "1, 1, 1, 1"), "1, 0");
  transposed({"1x4x3x2", "4x1x2x2", "2"}, window("2, 3", "2, 1", "0, 1, 1, 0", "groups = 2 : i64"),
             "0, 1");
  transposed({"1x1x1", "1x1x1", "1"}, window("1", "1", "0, 0"), "0");
  transposed({"1x2x3x3", "2x1x2x2"},
             window("2, 2", "1, 1", "0, 0, 0, 0", "padding = \"same_upper\""), "0, 0");
  transposed({"1x2x3x3", "2x1x3x3"},
             window("2, 2", "1, 1", "0, 0, 0, 0", "padding = \"same_lower\""), "0, 0");
  transposed({"1x2x3x3", "2x1x3x3"}, window("2, 2", "1, 1", "0, 0, 0, 0"), "0, 0", ": 6, 7");
  transposed({"2x4x3", "4x1x2", "4"}, window("3", "2", "1, 0", "groups = 4 : i64"), "1");
  transposed({"1x1x2x2x3", "1x2x2x1x2"}, window("1, 2, 2", "1, 1, 2", "0, 0, 1, 0, 0, 1"),
             "0, 1, 0");
}

void addPools(std::vector<RuleCase>& cases) {
  struct Pool {
    const char* op;
    std::vector<const char*> attributes;
    unsigned results = 1;
  };
  for (const Pool& pool : std::vector<Pool>{
           {"gr.max_pool", {"ceil_mode = false"}},
           {"gr.max_pool_with_indices", {"column_major = false", "column_major = true"}, 2},
           {"gr.avg_pool", {"count_include_pad = false", "count_include_pad = true"}},
           {"gr.lp_pool", {"p = 2.0 : f64", "p = 3.0 : f64"}}}) {
    for (const char* more : pool.attributes) {
      auto add = [&](const char* dims, const char* kernel, const std::string& attributes) {
        cases.push_back(
            {pool.op,
             {dims},
             absl::StrCat("kernel = array<i64: ", kernel, ">, ", attributes, ", ", more),
             -2,
             2,
             pool.results});
      };
      add("2x2x6x5", "3, 2", window("2, 2", "1, 1", "1, 0, 1, 1"));
      add("1x3x5x5", "2, 2", window("1, 1", "2, 2", "0, 0, 0, 0"));
      add("1x2x7", "3", window("2", "1", "0, 0"));
      add("1x1x1", "1", window("1", "1", "0, 0"));
      add("1x1x5x5", "3, 3", window("2, 2", "1, 1", "0, 0, 0, 0", "padding = \"same_lower\""));
      add("1x2x8x6", "3, 3", window("3, 2", "1, 1", "0, 0, 1, 1"));
      add("0x2x5", "2", window("1", "1", "0, 0"));
      add("1x2x3x4x3", "2, 2, 3", window("1, 2, 1", "1, 1, 1", "0, 1, 1, 1, 0, 1"));
      add("1x1x7x6", "3, 2", window("1, 3", "2, 1", "1, 0, 2, 1"));
      add("2x1x4x4", "2, 2", window("2, 2", "1, 1", "0, 0, 0, 0", "padding = \"same_upper\""));
      if (more != std::string("ceil_mode = false")) {
        add("1x2x6x5", "3, 2", window("2, 2", "1, 1", "1, 0, 1, 1", "ceil_mode = true"));
      }
    }
  }
  for (const char* dims : {"1x2x6x5", "1x1x4x4", "2x1x7x8"}) {
    cases.push_back({"gr.max_pool",
                     {dims},
                     absl::StrCat("kernel = array<i64: 3, 2>, ",
                                  window("2, 3", "1, 1", "1, 0, 1, 1", "ceil_mode = true"))});
  }
}

}  // namespace

std::vector<RuleCase> windowCases() {
  std::vector<RuleCase> cases;
  addConvolutions(cases);
  addPools(cases);
  return cases;
}

}  // namespace graphrun::ir
