// Kernels that pick, join, pad and slide: their PTX interpreted against reference kernels, and
// taken by ptxas.
#include "devices/cuda/compiler/emit/point_kernel.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/devices/cuda/compiler/operation_case.h"

namespace graphrun::devices::cuda {
namespace {

TEST_CASE("tensors are joined along an axis") {
  std::string element = GENERATE("f32", "f16", "i64", "i1", "f64");
  auto type = [&](const std::string& dims) {
    return absl::StrCat("tensor<", dims, "x", element, ">");
  };
  check(
      function("concat {axis = 0 : i64}", {"%a", "%b"}, {type("2x8"), type("3x8")}, {type("5x8")}),
      0, true);
  check(function("concat {axis = 1 : i64}", {"%a", "%b", "%d"},
                 {type("3x2x8"), type("3x5x8"), type("3x1x8")}, {type("3x8x8")}),
        0, true);
  check(function("concat {axis = 1 : i64}", {"%a", "%b"}, {type("300x2"), type("300x1")},
                 {type("300x3")}),
        0, true);
}

TEST_CASE("a tensor is cut along an axis") {
  std::string element = GENERATE("f32", "bf16", "i1");
  auto type = [&](const std::string& dims) {
    return absl::StrCat("tensor<", dims, "x", element, ">");
  };
  check(function("split {axis = 2 : i64, sizes = array<i64: 8, 24, 8>}", {"%a"}, {type("3x5x40")},
                 {type("3x5x8"), type("3x5x24"), type("3x5x8")}),
        0, true);
  check(function("split {axis = 1 : i64, sizes = array<i64: 2, 1>}", {"%a"}, {type("301x3")},
                 {type("301x2"), type("301x1")}),
        0, true);
}

TEST_CASE("slices and elements are picked by index") {
  std::string index = GENERATE("i32", "i64");
  std::string indices = absl::StrCat("tensor<2x3x", index, ">");
  for (const char* axis : {"0", "1", "2"}) {
    std::vector<std::string> dims = {"5", "6", "8"};
    dims[static_cast<size_t>(axis[0] - '0')] = "2x3";
    check(function(absl::StrCat("gather {axis = ", axis, " : i64}"), {"%a", "%i"},
                   {"tensor<5x6x8xf32>", indices},
                   {absl::StrCat("tensor<", absl::StrJoin(dims, "x"), "xf32>")}),
          0, true);
  }
  check(function("gather {axis = 0 : i64}", {"%a", "%i"},
                 {"tensor<5x7xf16>", absl::StrCat("tensor<", index, ">")}, {"tensor<7xf16>"}),
        0, true);
  check(function("gather_elements {axis = 1 : i64}", {"%a", "%i"},
                 {"tensor<4x5x6xf32>", absl::StrCat("tensor<3x9x5x", index, ">")},
                 {"tensor<3x9x5xf32>"}),
        0, true);
}

TEST_CASE("tensors are padded and cropped") {
  std::string mode = GENERATE("constant", "edge", "reflect", "wrap");
  for (const char* element : {"f32", "i32"}) {
    auto type = [&](const std::string& dims) {
      return absl::StrCat("tensor<", dims, element, ">");
    };
    check(function(absl::StrCat("pad {mode = \"", mode, "\"}"), {"%a", "%c", "%v"},
                   {type("3x4x5x"), "tensor<6xi64>", type("")}, {type("5x3x10x")},
                   ints("%c", "[1, -1, 3, 1, 0, 2]", 6)),
          0, true);
  }
}

TEST_CASE("where the best of an axis is") {
  auto [element, whole] = GENERATE(
      table<std::string, bool>({{"f32", false}, {"f32", true}, {"f16", true}, {"i64", true}}));
  std::string kind = GENERATE("max", "min");
  std::string last = GENERATE("true", "false");
  check(function(
            absl::StrCat("arg_reduce {kind = \"", kind, "\", axis = 1 : i64, last = ", last, "}"),
            {"%a"}, {absl::StrCat("tensor<4x9x3x", element, ">")}, {"tensor<4x1x3xi64>"}),
        0, whole);
}

TEST_CASE("running sums and products") {
  std::string kind = GENERATE("sum", "prod");
  std::string options =
      GENERATE("", ", exclusive = true", ", reverse = true", ", exclusive = true, reverse = true");
  for (const char* element : {"f32", "i64"}) {
    std::string type = absl::StrCat("tensor<3x7x2x", element, ">");
    check(function(absl::StrCat("cumulative {kind = \"", kind, "\"", options, "}"), {"%a", "%c"},
                   {type, "tensor<1xi64>"}, {type}, ints("%c", "[-2]", 1)),
          0, true);
  }
}

TEST_CASE("running sums along an axis that is known at run time") {
  std::string options = GENERATE("", ", exclusive = true, reverse = true");
  std::string index = GENERATE("i32", "i64");
  auto type = index == "i32" ? runtime::ElementType::kI32 : runtime::ElementType::kI64;
  for (const char* dims : {"3x7x2x", "40x3x90x", "6x"}) {
    std::string tensor = absl::StrCat("tensor<", dims, "f32>");
    std::string text =
        function(absl::StrCat("cumulative {kind = \"sum\"", options, "}"), {"%a", "%i"},
                 {tensor, absl::StrCat("tensor<", index, ">")}, {tensor});
    auto operands = [&](double axis) {
      cpu::Tensors all = KernelCase(text).operands(1, true);
      all[1] = cpu::tensor(type, {}, {axis});
      return all;
    };
    bool isFlat = dims[0] == '6';
    for (double axis : isFlat ? std::vector<double>{0, -1} : std::vector<double>{0, 1, 2, -2}) {
      check(text, 0, true, operands(axis));
    }
    CHECK(complaintOf(text, operands(isFlat ? 1 : 3)) == KernelError::kAxis);
    CHECK(complaintOf(text, operands(-4)) == KernelError::kAxis);
  }
}

/// A pool of 3 x 2 windows over a 2 x 3 x 7 x 8 input.
std::string pool(const std::string& kind, const std::string& element, const std::string& options,
                 const std::string& result) {
  return function(absl::StrCat(kind, " {kernel = array<i64: 3, 2>, ", options, "}"), {"%a"},
                  {absl::StrCat("tensor<2x3x7x8x", element, ">")},
                  {absl::StrCat("tensor<2x3x", result, "x", element, ">")});
}

/// The same pool where the channels lie last.
void checkChannelsLast(const std::string& text, double tolerance) {
  INFO(text);
  constexpr codegen::KernelLayout kLast{codegen::KernelLayout::Order::kChannelsLast, 0};
  KernelCase last(text, {{kLast}, kLast});
  cpu::Tensors operands = last.operands(5, false), laidOut;
  laidOut.push_back(channelsLast(operands[0]));
  cpu::Tensors got = last.interpreted(laidOut);
  CHECK(cpu::distance(got[0], channelsLast(last.expected(operands)[0])) <= tolerance);
}

TEST_CASE("windows are pooled") {
  auto [kind, more] =
      GENERATE(table<std::string, std::string>({{"max_pool", ""},
                                                {"avg_pool", ""},
                                                {"avg_pool", ", count_include_pad = true"},
                                                {"lp_pool", ", p = 2.0 : f64"},
                                                {"lp_pool", ", p = 3.0 : f64"}}));
  auto [options, result] = GENERATE(table<std::string, std::string>(
      {{"strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>",
        "5x7"},
       {"strides = array<i64: 2, 3>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 1>",
        "4x3"},
       {"strides = array<i64: 2, 4>, dilations = array<i64: 2, 3>, pads = array<i64: 1, 1, 1, 1>, "
        "ceil_mode = true",
        "3x3"},
       {"strides = array<i64: 2, 3>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, "
        "padding = \"same_lower\"",
        "4x3"}}));
  check(pool(kind, "f32", options + more, result), 1e-5);
  checkChannelsLast(pool(kind, "f32", options + more, result), 1e-5);
  if (kind != "lp_pool") {
    check(pool(kind, "f16", options + more, result), 2e-3);
    check(pool(kind, "f64", options + more, result), 1e-12);
  }
  if (kind == "max_pool") {
    for (const char* element : {"ui8", "i8", "i32", "i64", "ui64"}) {
      check(pool(kind, element, options, result), 0, true);
    }
  }
}

TEST_CASE("large sizes are parameters or part of the code") {
  check(
      function("max_pool {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = "
               "array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}",
               {"%a"}, {"tensor<1x17x41x39xf32>"}, {"tensor<1x17x21x20xf32>"}));
  check(function("pad {mode = \"reflect\"}", {"%a", "%c", "%v"},
                 {"tensor<30x50xf32>", "tensor<4xi64>", "tensor<f32>"}, {"tensor<77x94xf32>"},
                 ints("%c", "[29, 0, 18, 44]", 4)));
  check(function("cumulative {kind = \"sum\", reverse = true}", {"%a", "%c"},
                 {"tensor<33x65x37xf32>", "tensor<1xi64>"}, {"tensor<33x65x37xf32>"},
                 ints("%c", "[1]", 1)),
        0, true);
  check(function("lrn {size = 33 : i64, alpha = 0.1 : f64}", {"%a"}, {"tensor<2x70x3x40xf32>"},
                 {"tensor<2x70x3x40xf32>"}),
        1e-5);
  check(function("gather {axis = 1 : i64}", {"%a", "%i"},
                 {"tensor<33x50x70xf32>", "tensor<40xi64>"}, {"tensor<33x40x70xf32>"}),
        0, true);
}

TEST_CASE("local response normalisation") {
  for (const char* size : {"3", "4", "9"}) {
    check(function(absl::StrCat("lrn {size = ", size, " : i64, alpha = 0.1 : f64}"), {"%a"},
                   {"tensor<2x6x3x4xf32>"}, {"tensor<2x6x3x4xf32>"}),
          1e-5);
  }
}

TEST_CASE("what no such kernel is generated for is declined with a reason") {
  CHECK(whyDeclined(function("concat {axis = 0 : i64}", {"%a", "%b"},
                             {"tensor<1x!gr.string>", "tensor<1x!gr.string>"},
                             {"tensor<2x!gr.string>"})) ==
        "gr.concat has an element type that is not computed in");
  CHECK(whyDeclined(function(
            "max_pool_with_indices {kernel = array<i64: 1>, strides = array<i64: 1>, dilations "
            "= array<i64: 1>, pads = array<i64: 0, 0>}",
            {"%a"}, {"tensor<1x1x4xi32>"}, {"tensor<1x1x4xi32>", "tensor<1x1x4xi64>"})) ==
        "gr.max_pool_with_indices has elements that are no floats");
  CHECK(
      whyDeclined(function("pad {mode = \"constant\"}", {"%a", "%p", "%v"},
                           {"tensor<4xf32>", "tensor<2xi64>", "tensor<f32>"}, {"tensor<5xf32>"})) ==
      "gr.pad has pads that are not known before the run");
}

}  // namespace
}  // namespace graphrun::devices::cuda
