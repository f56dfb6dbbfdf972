// Kernels that interpolate: their PTX interpreted against reference kernels.
#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/compiler/operation_case.h"

namespace graphrun::devices::cuda {
namespace {

/// `operand`: "scales" or "sizes" and a constant of that type.
std::string resize(const std::string& input, const std::string& operand, const std::string& values,
                   const std::string& numbers, const std::string& result,
                   const std::string& attributes) {
  return absl::StrCat("func.func @f(%a: ", input, ") -> ", result, " {\n  %c = gr.constant dense<",
                      values, "> : ", numbers, " : ", numbers, "\n  %0 = gr.resize %a ", operand,
                      " %c {", attributes, "} : (", input, ", ", numbers, ") -> ", result,
                      "\n  return %0 : ", result, "\n}");
}

std::string sized(const std::string& sizes, const std::string& result,
                  const std::string& attributes) {
  return resize("tensor<2x3x5x7xf32>", "sizes", absl::StrCat("[", sizes, "]"), "tensor<4xi64>",
                absl::StrCat("tensor<", result, "xf32>"), attributes);
}

TEST_CASE("images are resized in each mode, by each rule") {
  std::string mode = GENERATE("nearest", "linear", "cubic");
  std::string coordinates = GENERATE("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric",
                                     "align_corners", "asymmetric");
  std::string rounding = GENERATE("round_prefer_floor", "ceil");
  if (mode != "nearest" && rounding == "ceil") {
    return;  // it is nearest's
  }
  std::string attributes = absl::StrCat("mode = \"", mode, "\", coordinates = \"", coordinates,
                                        "\", rounding = \"", rounding, "\"");
  check(sized("2, 3, 11, 13", "2x3x11x13", attributes), 2e-6);
  check(sized("2, 3, 3, 4", "2x3x3x4", attributes), 2e-6);
  check(sized("2, 3, 5, 1", "2x3x5x1", attributes), 2e-6);
}

TEST_CASE("filters grow, and may leave out what is outside") {
  std::string mode = GENERATE("linear", "cubic");
  std::string more = GENERATE("antialias = true", "exclude_outside = true",
                              "antialias = true, exclude_outside = true, cubic_coeff = -0.5");
  check(sized("2, 3, 2, 3", "2x3x2x3",
              absl::StrCat("mode = \"", mode,
                           "\", coordinates = \"half_pixel\", rounding = "
                           "\"floor\", ",
                           more)),
        2e-6);
}

TEST_CASE("scales that are no quotients of sizes, and one scale for several dims") {
  std::string rule = "mode = \"linear\", coordinates = \"half_pixel\", rounding = \"floor\"";
  check(resize("tensor<1x1x6x6xf32>", "scales", "[1.0, 1.0, 0.6, 1.7]", "tensor<4xf32>",
               "tensor<1x1x3x10xf32>", rule),
        2e-6);
  check(sized("2, 3, 8, 9", "2x3x6x9",
              absl::StrCat(rule, ", policy = \"not_larger\", axes = array<i64: 2, 3>")),
        2e-6);
}

TEST_CASE("other element types are resized") {
  auto [element, tolerance] = GENERATE(table<std::string, double>(
      {{"f16", 2e-3}, {"bf16", 2e-2}, {"f64", 1e-12}, {"ui8", 0}, {"i32", 0}}));
  for (const char* mode : {"linear", "cubic"}) {
    std::string input = absl::StrCat("tensor<1x2x5x6x", element, ">");
    check(resize(input, "sizes", "[1, 2, 8, 9]", "tensor<4xi64>",
                 absl::StrCat("tensor<1x2x8x9x", element, ">"),
                 absl::StrCat("mode = \"", mode,
                              "\", coordinates = \"half_pixel\", rounding = \"floor\"")),
          tolerance, true);
  }
}

TEST_CASE("a region is cut out and resized") {
  std::string mode = GENERATE("nearest", "linear");
  check(absl::StrCat(
            "func.func @f(%a: tensor<1x2x6x6xf32>) -> tensor<1x2x4x5xf32> {\n"
            "  %s = gr.constant dense<[1, 2, 4, 5]> : tensor<4xi64> : tensor<4xi64>\n"
            "  %r = gr.constant dense<[0.0, 0.0, 0.2, -0.3, 1.0, 1.0, 0.9, 1.2]> : tensor<8xf32> : "
            "tensor<8xf32>\n"
            "  %0 = gr.resize %a sizes %s roi %r {mode = \"",
            mode,
            "\", coordinates = \"tf_crop_and_resize\", rounding = \"floor\", extrapolation = 0.5 : "
            "f64} : (tensor<1x2x6x6xf32>, tensor<4xi64>, tensor<8xf32>) -> tensor<1x2x4x5xf32>\n"
            "  return %0 : tensor<1x2x4x5xf32>\n}"),
        2e-6);
}

TEST_CASE("scales that are not known before the run are declined") {
  CHECK(whyDeclined("func.func @f(%a: tensor<1x6xf32>, %s: tensor<2xf32>) -> tensor<1x9xf32> {\n"
                    "  %0 = gr.resize %a scales %s {mode = \"linear\", coordinates = "
                    "\"half_pixel\", rounding = \"floor\"} : (tensor<1x6xf32>, tensor<2xf32>) -> "
                    "tensor<1x9xf32>\n  return %0 : tensor<1x9xf32>\n}") ==
        "gr.resize has scales or a region that are not known before the run");
}

TEST_CASE("grids point into images") {
  std::string mode = GENERATE("nearest", "linear", "cubic");
  std::string padding = GENERATE("zeros", "border", "reflection");
  std::string corners = GENERATE("true", "false");
  std::string attributes = absl::StrCat("grid_sample {mode = \"", mode, "\", padding = \"", padding,
                                        "\", align_corners = ", corners, "}");
  // Of [-3, 3]: many positions are outside.
  check(function(attributes, {"%a", "%g"}, {"tensor<2x3x5x7xf32>", "tensor<2x4x6x2xf32>"},
                 {"tensor<2x3x4x6xf32>"}),
        1e-5);
  if (mode != "cubic") {
    check(function(attributes, {"%a", "%g"}, {"tensor<1x2x3x4x5xf32>", "tensor<1x2x3x4x3xf32>"},
                   {"tensor<1x2x2x3x4xf32>"}),
          1e-5);
  }
}

TEST_CASE("regions of images are pooled from samples") {
  std::string kind = GENERATE("mean", "max");
  std::string half = GENERATE("true", "false");
  std::string sampling = GENERATE("0", "2");
  cpu::Tensors operands;
  std::mt19937 random(3);
  operands.push_back(cpu::randomTensor({2, 3, 9, 11}, random, -3, 3));
  operands.push_back(
      cpu::f32({5, 4}, {0, 0, 10, 8, 2.5, 1.5, 7, 6, -4, -3, 30, 40, 5, 5, 5, 5, 3, 2, 1, 1}));
  operands.push_back(cpu::i64({5}, {0, 1, 1, 0, 1}));
  check(function(absl::StrCat("roi_align {kind = \"", kind,
                              "\", height = 3 : i64, width = 2 : i64, scale = 0.5 : f64, sampling "
                              "= ",
                              sampling, " : i64, half_pixel = ", half, "}"),
                 {"%a", "%r", "%b"}, {"tensor<2x3x9x11xf32>", "tensor<5x4xf32>", "tensor<5xi64>"},
                 {"tensor<5x3x3x2xf32>"}),
        1e-5, false, std::move(operands));
}

TEST_CASE("a large region has samples for each element, and too large a one is complained about") {
  std::string pool = function(
      "roi_align {kind = \"mean\", height = 1 : i64, width = 1 : i64, scale "
      "= 1.0 : f64, sampling = 0 : i64, half_pixel = true}",
      {"%a", "%r", "%b"}, {"tensor<1x1x4x5xf32>", "tensor<1x4xf32>", "tensor<1xi64>"},
      {"tensor<1x1x1x1xf32>"});
  auto operands = [](double height) {
    std::mt19937 random(3);
    cpu::Tensors all;
    all.push_back(cpu::randomTensor({1, 1, 4, 5}, random, -3, 3));
    all.push_back(cpu::f32({1, 4}, {1, 0, 2, height}));
    all.push_back(cpu::i64({1}, {0}));
    return all;
  };
  check(pool, 1e-6, false, operands(6000));
  CHECK(complaintOf(pool, operands(0x1p20 + 1)) == KernelError::kSamples);
  CHECK(complaintOf(pool, operands(1e30)) == KernelError::kSamples);
}

}  // namespace
}  // namespace graphrun::devices::cuda
