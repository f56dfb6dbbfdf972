// Kernels that reduce rows: on the CPU against reference kernels, their text by ptxas.
#include "devices/cuda/compiler/emit/row_kernel.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/devices/cuda/compiler/operation_case.h"

namespace graphrun::devices::cuda {
namespace {

using Dims = std::vector<int64_t>;

std::string type(const Dims& dims, const std::string& element) {
  return absl::StrCat("tensor<", absl::StrJoin(dims, "x"), dims.empty() ? "" : "x", element, ">");
}

/// A function of one operation on `input`, and on operands of the other types.
std::string function(const std::string& op, const std::string& attributes,
                     const std::vector<std::string>& operands, const std::string& result) {
  std::string declared, names;
  for (size_t i = 0; i < operands.size(); ++i) {
    absl::StrAppend(&declared, i == 0 ? "" : ", ", "%x", i, ": ", operands[i]);
    absl::StrAppend(&names, i == 0 ? "" : ", ", "%x", i);
  }
  return absl::StrCat("func.func @f(", declared, ") -> ", result, " {\n  %0 = gr.", op, " ", names,
                      " {", attributes, "} : (", absl::StrJoin(operands, ", "), ") -> ", result,
                      "\n  return %0 : ", result, "\n}");
}

std::string reduction(const std::string& kind, const std::string& element, const Dims& dims,
                      const Dims& axes) {
  Dims result = dims;
  for (int64_t axis : axes) {
    result[static_cast<size_t>(axis)] = 1;
  }
  return function(
      "reduce",
      absl::StrCat("kind = \"", kind, "\", axes = array<i64: ", absl::StrJoin(axes, ", "), ">"),
      {type(dims, element)}, type(result, element));
}

TEST_CASE("rows are reduced by warps, blocks or single threads") {
  std::string kind = GENERATE("sum", "mean", "max", "min");
  auto [dims, axes] = GENERATE(table<Dims, Dims>({{{9, 40}, {1}},    // a warp a row, vectors
                                                  {{3, 7}, {1}},     // not all of a warp
                                                  {{2, 1028}, {1}},  // a block a row
                                                  {{2, 3001}, {1}},  // one by one
                                                  {{2, 3, 4, 5}, {2, 3}},
                                                  {{6, 11, 10}, {1}},  // a thread a row
                                                  {{300, 5}, {0}}}));
  check(reduction(kind, "f32", dims, axes), 2e-5);
}

TEST_CASE("rows of all types are reduced") {
  std::string element = GENERATE("f16", "bf16", "f64", "i32", "i64", "ui32", "i8", "ui8", "i16");
  std::string kind = GENERATE("sum", "max", "min");
  check(reduction(kind, element, {3, 64}, {1}), 0, true);
  check(reduction(kind, element, {2, 2048}, {1}), 0, true);
}

TEST_CASE("few and long rows are reduced in parts") {
  std::string kind = GENERATE("sum", "mean", "max", "min");
  std::string element = GENERATE("f32", "f16");
  double tolerance = element == "f32" ? 2e-5 : 2e-3;
  for (const auto& [dims, axis, kernels] : {std::tuple(Dims{2, 20003}, 1, 2U),
                                            {Dims{1, 40000}, 1, 2U},
                                            {Dims{2, 8001}, 1, 1U},
                                            {Dims{3000, 3}, 0, 2U},
                                            {Dims{2, 2000, 7}, 1, 2U},
                                            {Dims{500, 70}, 0, 2U},
                                            {Dims{100, 70}, 0, 1U}}) {
    std::string text = reduction(kind, element, dims, {axis});
    CHECK(KernelCase(text).plan().launches.size() == kernels);
    check(text, tolerance);
  }
}

TEST_CASE("parts are of many types") {
  check(reduction("sum", "i64", {1, 30000}, {1}), 0, true);
  check(reduction("max", "i8", {1, 30000}, {1}), 0, true);
  check(reduction("min", "ui8", {4000, 2}, {0}), 0, true);
  check(reduction("sum", "f64", {1, 30000}, {1}), 1e-12);
}

TEST_CASE("whether all or any of a row is set") {
  std::string kind = GENERATE("max", "min");
  check(reduction(kind, "i1", {9, 40}, {1}), 0, true);
  check(reduction(kind, "i1", {2, 3000}, {1}), 0, true);
  check(reduction(kind, "i1", {700, 3}, {0}), 0, true);
}

TEST_CASE("products of rows") {
  check(reduction("prod", "f32", {4, 12}, {1}), 1e-5);
  check(reduction("prod", "i64", {4, 12}, {1}), 0, true);
}

TEST_CASE("softmax along any axis") {
  std::string element = GENERATE("f32", "f16", "bf16");
  double tolerance = element == "f32" ? 1e-6 : element == "f16" ? 1e-3 : 8e-3;
  std::string log = GENERATE("", ", log = true");
  auto [dims, axis] =
      GENERATE(table<Dims, int>({{{8, 100}, -1}, {{2, 3000}, -1}, {{2, 12, 9}, 1}, {{40, 3}, 0}}));
  check(function("softmax", absl::StrCat("axis = ", axis, " : i64", log), {type(dims, element)},
                 type(dims, element)),
        tolerance);
}

TEST_CASE("layer normalisation, with and without bias") {
  std::string element = GENERATE("f32", "f16", "bf16", "f64");
  double tolerance = element == "f32"   ? 1e-5
                     : element == "f64" ? 1e-12
                     : element == "f16" ? 2e-3
                                        : 2e-2;
  auto [dims, axis] =
      GENERATE(table<Dims, int>({{{4, 768}, -1}, {{2, 1030}, -1}, {{5, 6, 10}, 1}}));
  auto from = dims.begin() + (axis < 0 ? static_cast<int>(dims.size()) + axis : axis);
  std::string row = type(Dims(from, dims.end()), element);
  std::string input = type(dims, element);
  std::string attributes = absl::StrCat("axis = ", axis, " : i64");
  check(function("layer_norm", attributes, {input, row, row}, input), tolerance);
  check(function("layer_norm", attributes, {input, row}, input), tolerance);
}

/// A normalisation in f32 of `input`, with casts from and to `narrow` where these are wanted.
std::string normalizationBetweenCasts(const std::string& narrow, const Dims& dims, bool from,
                                      bool to) {
  std::string half = type(dims, narrow), wide = type(dims, "f32"), row = type({dims[1]}, "f32");
  std::string input = from ? half : wide, result = to ? half : wide;
  std::string widened = absl::StrCat("%w = gr.cast %a {to = f32} : (", half, ") -> ", wide);
  std::string narrowed =
      absl::StrCat("%n = gr.cast %o {to = ", narrow, "} : (", wide, ") -> ", half);
  std::string types = absl::StrCat("(", input, ", ", row, ", ", row, ") -> ", result);
  return absl::StrCat(
      "func.func @f(%x: ", input, ", %s: ", row, ", %b: ", row, ") -> ", result,
      " {\n  %0 = gr.group(%x, %s, %b) attributes {kind = \"row\"} {\n  ^bb0(%a: ", input,
      ", %c: ", row, ", %d: ", row, "):\n", from ? widened : "", "\n    %o = gr.layer_norm ",
      from ? "%w" : "%a", ", %c, %d : (", wide, ", ", row, ", ", row, ") -> ", wide, "\n",
      to ? narrowed : "", "\n    gr.yield ", to ? "%n" : "%o", " : ", result, "\n  } : ", types,
      "\n  return %0 : ", result, "\n}");
}

TEST_CASE("layer normalisation and the casts around it are one kernel") {
  std::string narrow = GENERATE("f16", "bf16");
  Dims dims = GENERATE(Dims{4, 768}, Dims{2, 1030}, Dims{3, 4096}, Dims{5, 10});
  double tolerance = narrow == "f16" ? 2e-3 : 2e-2;
  check(normalizationBetweenCasts(narrow, dims, true, true), tolerance);
  check(normalizationBetweenCasts(narrow, dims, true, false), 1e-5);
  check(normalizationBetweenCasts(narrow, dims, false, true), tolerance);
}

TEST_CASE("rows that no kernel is generated for are declined with a reason") {
  CHECK(whyDeclined(reduction("sum", "f32", {2, 3}, {1})).empty());
  CHECK(whyDeclined(reduction("sum", "f32", {2, 3, 4}, {0, 2})) ==
        "gr.reduce reduces dims that do not follow each other");
  CHECK(whyDeclined(reduction("mean", "i32", {2, 3}, {1})) ==
        "gr.reduce of this integer type has no generated code on GPUs");
  CHECK(whyDeclined(function("layer_norm", "axis = 1 : i64", {"tensor<2x3xf32>", "tensor<1xf32>"},
                             "tensor<2x3xf32>")) ==
        "gr.layer_norm has a scale or bias that is not one row");
}

}  // namespace
}  // namespace graphrun::devices::cuda
