#include "devices/cpu/backward/point_filter_kernel.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "devices/cpu/backward/channel_layout.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("gr.conv_backward_filter: one product takes ", what));
}

/// The gradient (rows x out), transposed, times the input (rows x in).
struct Product {
  int64_t out, in, rows;
};

/// The channels of each position lie side by side.
bool hasRows(const TensorDesc& desc) {
  absl::StatusOr<ChannelLayout> layout = channelLayoutOf(desc);
  return layout.ok() &&
         (layout->positions == 1 ||
          (!layout->isPlanes && layout->block == layout->channels &&
           layout->padded == layout->channels && blockingOf(desc)->innerBlocks.empty()));
}

bool isPoint(const Window& window) {
  auto isOne = [](int64_t value) { return value == 1; };
  auto isZero = [](int64_t value) { return value == 0; };
  return std::all_of(window.kernel.begin(), window.kernel.end(), isOne) &&
         std::all_of(window.strides.begin(), window.strides.end(), isOne) &&
         std::all_of(window.padsBegin.begin(), window.padsBegin.end(), isZero);
}

absl::StatusOr<Product> productOf(const Instruction& instruction) {
  if (!isFloatProduct(instruction) || instruction.inputs.size() != 2 ||
      !instruction.postOps.empty()) {
    return declined("two operands of f32");
  }
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& gradient = instruction.inputs[1].desc.dims;
  const Dims& filter = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims kernel, attribute<Dims>(instruction, "kernel"));
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  if (in.size() < 3 || gradient.size() != in.size() || filter.size() != in.size() ||
      in[0] != gradient[0] || filter[0] != gradient[1] || filter[1] * groups != in[1]) {
    return invalidInstruction(instruction, "the shapes of input, gradient and filter do not fit");
  }
  GR_ASSIGN_OR_RETURN(Window window, windowOf(instruction, absl::MakeConstSpan(in).subspan(2),
                                              kernel, absl::MakeConstSpan(gradient).subspan(2),
                                              /*ceilMode=*/true));
  if (groups != 1 || !isPoint(window) ||
      !std::equal(in.begin() + 2, in.end(), gradient.begin() + 2) || countOf(in) == 0 ||
      countOf(gradient) == 0) {
    return declined("filters of one element, put down everywhere");
  }
  return Product{gradient[1], in[1], countOf(in) / in[1]};
}

}  // namespace

absl::StatusOr<LayoutChoice> choosePointFilter(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(productOf(instruction).status());
  LayoutChoice choice = givenLayouts(instruction);
  if (!hasRows(choice.inputs[0]) || !hasRows(choice.inputs[1]) ||
      (!instruction.outputs[0].desc.any && !isDense(instruction.outputs[0].desc))) {
    return declined("images with the channels last, and makes dense filters");
  }
  const TensorDesc& filter = instruction.outputs[0].desc;
  choice.outputs = {TensorDesc{filter.type, filter.dims, {}, false}};
  choice.implementation = "sgemm";
  choice.share = 0.9;
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createPointFilter(const Instruction& instruction,
                                                          KernelContext&) {
  GR_RETURN_IF_ERROR(choosePointFilter(instruction).status());
  GR_ASSIGN_OR_RETURN(Product product, productOf(instruction));
  return makeKernel([=, x = instruction.inputs[0].buffer, dy = instruction.inputs[1].buffer,
                     filter = instruction.outputs[0].buffer](void* const* buffers) -> int {
    return dnnl_sgemm('T', 'N', product.out, product.in, product.rows, 1.0F,
                      static_cast<const float*>(buffers[dy]), product.out,
                      static_cast<const float*>(buffers[x]), product.in, 0.0F,
                      static_cast<float*>(buffers[filter]), product.in);
  });
}

}  // namespace graphrun::devices::cpu
