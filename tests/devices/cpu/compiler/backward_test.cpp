// Kernels and layouts of the operations that gradients are made of.
#include <algorithm>

#include "tests/devices/cpu/compiler/compiled.h"

namespace graphrun::devices::cpu {
namespace {

std::vector<std::string> kernelsOf(const Executable& executable, const std::string& operation) {
  std::vector<std::string> kernels;
  for (const Instruction& instruction : executable.instructions) {
    if (operation.empty() || instruction.operation == operation) {
      kernels.push_back(instruction.kernel);
    }
  }
  return kernels;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a step of a convolution, batch norm and pool has no reference kernel") {
  Executable executable = compiled(R"(
func.func @f(%x: tensor<4x32x14x14xf32> {gr.name = "x"}, %w: tensor<32x32x3x3xf32> {gr.name = "w"},
             %s: tensor<32xf32> {gr.name = "s"}, %d: tensor<4x32x7x7xf32> {gr.name = "d"})
    -> (tensor<32x32x3x3xf32> {gr.name = "dw"}, tensor<32xf32> {gr.name = "ds"}) {
  %c = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<4x32x14x14xf32>, tensor<32x32x3x3xf32>) -> tensor<4x32x14x14xf32>
  %n:3 = gr.batch_norm_training %c, %s, %s
      : (tensor<4x32x14x14xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<4x32x14x14xf32>, tensor<32xf32>, tensor<32xf32>)
  %p = gr.max_pool_backward %n#0, %d {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<4x32x14x14xf32>, tensor<4x32x7x7xf32>) -> tensor<4x32x14x14xf32>
  %b:3 = gr.batch_norm_backward %c, %s, %n#1, %n#2, %p
      : (tensor<4x32x14x14xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<4x32x14x14xf32>) -> (tensor<4x32x14x14xf32>, tensor<32xf32>, tensor<32xf32>)
  %dw = gr.conv_backward_filter %x, %b#0 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<4x32x14x14xf32>, tensor<4x32x14x14xf32>) -> tensor<32x32x3x3xf32>
  return %dw, %b#1 : tensor<32x32x3x3xf32>, tensor<32xf32>
})");
  CHECK(kernelsOf(executable, "gr.batch_norm_training") == Names{"batch_norm_training"});
  CHECK(kernelsOf(executable, "gr.batch_norm_backward") == Names{"batch_norm_backward"});
  CHECK(kernelsOf(executable, "gr.max_pool_backward") == Names{"pool_backward"});
  CHECK(kernelsOf(executable, "gr.conv_backward_filter") == Names{"onednn.conv_backward_filter"});
  // Those between agree on one layout, so that nothing is laid out anew but what enters and leaves.
  Names reorders = kernelsOf(executable, "reorder");
  CHECK(reorders.size() <= 4);
}

TEST_CASE("filters that are made in each step are laid out there") {
  for (const char* channels : {"6", "64"}) {
    std::string text = R"(
func.func @f(%d: tensor<8xCx12x12xf32> {gr.name = "d"}, %v: tensor<CxCx3x3xf32> {gr.name = "v"})
    -> (tensor<8xCx12x12xf32> {gr.name = "dx"}) {
  %w = gr.neg %v : (tensor<CxCx3x3xf32>) -> tensor<CxCx3x3xf32>
  %y = gr.conv %d, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<8xCx12x12xf32>, tensor<CxCx3x3xf32>) -> tensor<8xCx12x12xf32>
  %dx = gr.conv_transpose %y, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, output_padding = array<i64: 0, 0>, output_shape = array<i64>}
      : (tensor<8xCx12x12xf32>, tensor<CxCx3x3xf32>) -> tensor<8xCx12x12xf32>
  return %dx : tensor<8xCx12x12xf32>
})";
    size_t at = 0;
    while ((at = text.find('C', at)) != std::string::npos) {
      text.replace(at, 1, channels);
    }
    Executable executable = compiled(text);
    CHECK(kernelsOf(executable, "gr.conv_transpose") == Names{"onednn.conv_backward_data"});
    CHECK(kernelsOf(executable, "gr.conv") == Names{"onednn.conv"});
  }
}

TEST_CASE("the filter of a first convolution has a gradient in blocks beside an image in planes") {
  Executable executable = compiled(R"(
func.func @f(%x: tensor<8x3x32x32xf32> {gr.name = "x"}, %d: tensor<8x64x32x32xf32> {gr.name = "d"})
    -> (tensor<64x3x3x3xf32> {gr.name = "dw"}) {
  %g = gr.neg %d : (tensor<8x64x32x32xf32>) -> tensor<8x64x32x32xf32>
  %dw = gr.conv_backward_filter %x, %g {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<8x64x32x32xf32>) -> tensor<64x3x3x3xf32>
  return %dw : tensor<64x3x3x3xf32>
})");
  auto found = std::find_if(
      executable.instructions.begin(), executable.instructions.end(),
      [](const Instruction& each) { return each.operation == "gr.conv_backward_filter"; });
  REQUIRE(found != executable.instructions.end());
  CHECK(found->kernel == "onednn.conv_backward_filter");
  CHECK(isDense(found->inputs[0].desc));
}

}  // namespace graphrun::devices::cpu
