// Transpositions by tiles: their PTX interpreted against reference kernels, and taken by ptxas.
#include "devices/cuda/compiler/emit/tile_kernel.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/devices/cuda/compiler/kernel_case.h"
#include "tests/devices/cuda/compiler/ptxas.h"

namespace graphrun::devices::cuda {
namespace {

struct Case {
  std::vector<int64_t> dims;
  std::vector<int64_t> permutation;
};

std::string text(const Case& c, const std::string& element) {
  std::vector<int64_t> result;
  for (int64_t dim : c.permutation) {
    result.push_back(c.dims[static_cast<size_t>(dim)]);
  }
  auto type = [&](const std::vector<int64_t>& dims) {
    return absl::StrCat("tensor<", absl::StrJoin(dims, "x"), "x", element, ">");
  };
  return absl::StrCat(
      "func.func @f(%x: ", type(c.dims), ") -> ", type(result),
      " {\n  %0 = gr.transpose %x {permutation = array<i64: ", absl::StrJoin(c.permutation, ", "),
      ">} : (", type(c.dims), ") -> ", type(result), "\n  return %0 : ", type(result), "\n}");
}

void check(const Case& c, const std::string& element) {
  KernelCase kernel(text(c, element));
  INFO(text(c, element));
  REQUIRE(isTileKernel(kernel.op()));
  cpu::Tensors operands = kernel.operands(1, true);
  REQUIRE(cpu::distance(kernel.interpreted(operands)[0], kernel.expected(operands)[0]) == 0);
  if (hasPtxas()) {
    requireAssembles(kernel.ptx(90), 90);
  }
}

TEST_CASE("a transposition goes through shared memory, whatever the edges and the element") {
  std::string element = GENERATE("f32", "f16", "bf16", "i1", "f64");
  check({{64, 64}, {1, 0}}, element);
  check({{33, 70}, {1, 0}}, element);
  check({{16, 300}, {1, 0}}, element);
  check({{131, 17}, {1, 0}}, element);
}

TEST_CASE("what stays in its place is walked tile by tile") {
  check({{3, 40, 5, 36}, {0, 2, 3, 1}}, "f16");
  check({{3, 20, 7, 34}, {0, 3, 1, 2}}, "f32");
  check({{20, 3, 2, 36}, {3, 2, 1, 0}}, "bf16");
  check({{2, 18, 3, 32, 2}, {3, 4, 0, 2, 1}}, "f32");
}

TEST_CASE("few elements side by side are moved one by one") {
  CHECK_FALSE(isTileKernel(KernelCase(text({{3, 1000}, {1, 0}}, "f32")).op()));
  CHECK_FALSE(isTileKernel(KernelCase(text({{1000, 3}, {1, 0}}, "f32")).op()));
  CHECK_FALSE(isTileKernel(KernelCase(text({{40, 30, 64}, {1, 0, 2}}, "f32")).op()));
  CHECK_FALSE(isTileKernel(KernelCase(text({{1, 64, 1, 1}, {0, 2, 3, 1}}, "f32")).op()));
}

}  // namespace
}  // namespace graphrun::devices::cuda
