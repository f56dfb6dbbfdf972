// Kernels that read and write by index, and that select: their PTX interpreted against reference
// kernels.
#include <catch2/catch.hpp>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/compiler/kernel_case.h"
#include "tests/devices/cuda/compiler/operation_case.h"

namespace graphrun::devices::cuda {
namespace {

std::string typeOf(const std::string& dims, const std::string& element) {
  return absl::StrCat("tensor<", dims, element, ">");
}

TEST_CASE("slices are picked by index vectors") {
  std::string index = GENERATE("i32", "i64");
  std::string element = GENERATE("f32", "f16", "i1");
  check(function("gather_nd {batch_dims = 0 : i64}", {"%a", "%i"},
                 {typeOf("4x5x8x", element), typeOf("3x2x2x", index)}, {typeOf("3x2x8x", element)}),
        0, true);
  check(function("gather_nd {batch_dims = 1 : i64}", {"%a", "%i"},
                 {typeOf("2x5x6x3x", element), typeOf("2x7x1x", index)},
                 {typeOf("2x7x6x3x", element)}),
        0, true);
  check(function("gather_nd {batch_dims = 0 : i64}", {"%a", "%i"},
                 {typeOf("40x50x", element), typeOf("300x2x", index)}, {typeOf("300x", element)}),
        0, true);
}

/// Of few elements, so that updates meet.
TEST_CASE("updates that meet are taken in order") {
  std::string reduction = GENERATE("none", "add", "mul", "min", "max");
  std::string element = GENERATE("f32", "f16", "i64", "u8", "i1");
  std::string type = element == "u8" ? "ui8" : element;
  std::string index = GENERATE("i32", "i64");
  std::string attributes = absl::StrCat("reduction = \"", reduction, "\"}");
  for (const char* axis : {"0", "1", "2"}) {
    check(function(absl::StrCat("scatter_elements {axis = ", axis, " : i64, ", attributes),
                   {"%a", "%i", "%u"},
                   {typeOf("4x6x5x", type), typeOf("3x4x5x", index), typeOf("3x4x5x", type)},
                   {typeOf("4x6x5x", type)}),
          0, true);
  }
  check(function("scatter_nd {" + attributes, {"%a", "%i", "%u"},
                 {typeOf("4x5x6x", type), typeOf("9x2x", index), typeOf("9x6x", type)},
                 {typeOf("4x5x6x", type)}),
        0, true);
  check(function("scatter_nd {" + attributes, {"%a", "%i", "%u"},
                 {typeOf("7x", type), typeOf("4x5x1x", index), typeOf("4x5x", type)},
                 {typeOf("7x", type)}),
        0, true);
}

TEST_CASE("many updates of a long tensor") {
  check(function("scatter_nd {reduction = \"none\"}", {"%a", "%i", "%u"},
                 {"tensor<61x33xf32>", "tensor<700x1xi64>", "tensor<700x33xf32>"},
                 {"tensor<61x33xf32>"}),
        0, false);
  check(function("scatter_elements {axis = 0 : i64, reduction = \"add\"}", {"%a", "%i", "%u"},
                 {"tensor<70x40xf32>", "tensor<50x40xi64>", "tensor<50x40xf32>"},
                 {"tensor<70x40xf32>"}),
        0, false);
}

std::string topK(const std::string& input, const std::string& result, const std::string& element,
                 int axis, int k, bool largest) {
  return function(
      absl::StrCat("top_k {axis = ", axis, " : i64, largest = ", largest ? "true" : "false", "}"),
      {"%a", "%c"}, {typeOf(input, element), "tensor<1xi64>"},
      {typeOf(result, element), typeOf(result, "i64")}, ints("%c", absl::StrCat(k), 1));
}

/// Whole numbers of few values have many equal ones, of which the first are the best.
TEST_CASE("the best elements of a row, in order") {
  bool largest = GENERATE(true, false);
  bool whole = GENERATE(true, false);
  std::string element = GENERATE("f32", "bf16", "i32", "i8", "ui8", "f64", "i64", "ui64");
  check(topK("3x100x", "3x7x", element, 1, 7, largest), 0, whole || !element.starts_with("f"));
  check(topK("2x70x3x", "2x70x3x", element, 1, 70, largest), 0, whole || !element.starts_with("f"));
  check(topK("1100x2x", "3x2x", element, 0, 3, largest), 0, whole || !element.starts_with("f"));
}

TEST_CASE("more of a long row") {
  check(topK("2x3000x", "2x600x", "f32", 1, 600, true));
  check(topK("1x5000x", "1x1x", "f32", 1, 1, false));
  check(topK("1x2100x", "1x600x", "f64", 1, 600, true));
}

TEST_CASE("NaN is larger than all numbers, and zeros are equal") {
  float nan = std::numeric_limits<float>::quiet_NaN();
  float infinity = std::numeric_limits<float>::infinity();
  bool largest = GENERATE(true, false);
  cpu::Tensors operands;
  operands.push_back(cpu::f32({1, 9}, {0, -0.0, nan, infinity, -infinity, 1, -nan, -1, -0.0}));
  operands.push_back(cpu::i64({1}, {9}));
  check(topK("1x9x", "1x9x", "f32", 1, 9, largest), 0, false, std::move(operands));
}

cpu::Tensors dataAndIndices(std::vector<int64_t> dims, std::vector<double> indices) {
  cpu::Tensors operands;
  operands.push_back(cpu::f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  operands.push_back(cpu::tensor(runtime::ElementType::kI64, std::move(dims), indices));
  return operands;
}

TEST_CASE("kernels complain about indices that are out of range, of either sign") {
  constexpr auto kNone = KernelError{};
  std::string gather = function("gather {axis = 0 : i64}", {"%a", "%i"},
                                {"tensor<4x2xf32>", "tensor<3xi64>"}, {"tensor<3x2xf32>"});
  CHECK(complaintOf(gather, dataAndIndices({3}, {3, -4, 0})) == kNone);
  // Of 64 bits even where offsets are computed in 32.
  for (double bad : {4.0, -5.0, 4294967297.0, -1e18}) {
    CAPTURE(bad);
    KernelCase kernels(gather);
    kernels.interpreted(dataAndIndices({3}, {0, bad, 1}));
    CHECK(kernels.error() == KernelError::kIndex);
    CHECK(kernels.errorRecord().index == static_cast<int64_t>(bad));
    CHECK(kernels.errorRecord().position == 1);
    CHECK(kernels.errorRecord().bound == 4);
  }
  std::string elements = function("gather_elements {axis = 0 : i64}", {"%a", "%i"},
                                  {"tensor<4x2xf32>", "tensor<1x2xi64>"}, {"tensor<1x2xf32>"});
  CHECK(complaintOf(elements, dataAndIndices({1, 2}, {-4, 4})) == KernelError::kIndex);
  std::string vectors = function("gather_nd {batch_dims = 0 : i64}", {"%a", "%i"},
                                 {"tensor<4x2xf32>", "tensor<2x2xi64>"}, {"tensor<2xf32>"});
  CHECK(complaintOf(vectors, dataAndIndices({2, 2}, {3, 1, -4, -2})) == kNone);
  CHECK(complaintOf(vectors, dataAndIndices({2, 2}, {3, 1, 0, 2})) == KernelError::kIndex);
  for (const char* reduction : {"none", "add"}) {
    std::string scatter =
        function(absl::StrCat("scatter_elements {axis = 0 : i64, reduction = \"", reduction, "\"}"),
                 {"%a", "%i", "%u"}, {"tensor<4x2xf32>", "tensor<1x2xi64>", "tensor<1x2xf32>"},
                 {"tensor<4x2xf32>"});
    for (double last : {3.0, 4.0}) {
      cpu::Tensors operands = dataAndIndices({1, 2}, {0, last});
      operands.push_back(cpu::f32({1, 2}, {7, 8}));
      KernelError complaint = complaintOf(scatter, std::move(operands));
      CHECK(complaint == (last > 3 ? KernelError::kIndex : kNone));
    }
  }
}

TEST_CASE("a number of best elements that was not planned is complained about") {
  std::string index = GENERATE("i32", "i64");
  std::string wanted = function("top_k {axis = 1 : i64}", {"%a", "%k"},
                                {"tensor<4x6xf32>", absl::StrCat("tensor<1x", index, ">")},
                                {"tensor<4x3xf32>", "tensor<4x3xi64>"});
  auto complaint = [&](double k) {
    cpu::Tensors operands;
    operands.push_back(cpu::f32({4, 6}, std::vector<double>(24, 1)));
    operands.push_back(cpu::tensor(
        index == "i32" ? runtime::ElementType::kI32 : runtime::ElementType::kI64, {1}, {k}));
    return complaintOf(wanted, std::move(operands));
  };
  CHECK(complaint(3) == KernelError{});
  CHECK(complaint(2) == KernelError::kCount);
  CHECK(complaint(4) == KernelError::kCount);
}

TEST_CASE("what is too much for such kernels is declined with a reason") {
  CHECK(whyDeclined(function("top_k {axis = 0 : i64}", {"%a", "%k"},
                             {"tensor<9000xf32>", "tensor<1xi64>"},
                             {"tensor<3000xf32>", "tensor<3000xi64>"})) ==
        "gr.top_k wants 3000 elements, more than the 2048 that a block keeps");
  CHECK(whyDeclined(function("top_k {axis = 0 : i64}", {"%a", "%k"},
                             {"tensor<9000xf64>", "tensor<1xi64>"},
                             {"tensor<2000xf64>", "tensor<2000xi64>"})) ==
        "gr.top_k wants 2000 elements, more than the 1024 that a block keeps");
  CHECK(
      whyDeclined(function("scatter_nd {reduction = \"add\"}", {"%a", "%i", "%u"},
                           {"tensor<1000000xf32>", "tensor<1000000x1xi64>", "tensor<1000000xf32>"},
                           {"tensor<1000000xf32>"})) ==
      "gr.scatter_nd has 1000000 updates to look for by each of 1000000 elements");
}

}  // namespace
}  // namespace graphrun::devices::cuda
