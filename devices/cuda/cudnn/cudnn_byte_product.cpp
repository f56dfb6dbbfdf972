#include "devices/cuda/cudnn/cudnn_byte_product.h"

#include "devices/cuda/kernels/layouts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using runtime::ElementType;

/// rows x depth by depth x columns.
struct ByteProduct {
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
};

absl::Status checkOperands(const Step& step) {
  if (step.operation != "gr.matmul" || step.inputs.size() < 2 || step.outputs.size() != 1) {
    return absl::InvalidArgumentError("expected gr.matmul of two operands");
  }
  const TensorDesc& lhs = step.inputs[0].desc;
  const TensorDesc& rhs = step.inputs[1].desc;
  const TensorDesc& result = step.outputs[0].desc;
  if (lhs.type != ElementType::kU8 || rhs.type != ElementType::kI8 ||
      result.type != ElementType::kI32) {
    return absl::UnimplementedError("cuDNN's products are of u8 by i8 to i32");
  }
  if (step.inputs.size() != 2 || !step.postOps.empty()) {
    return absl::UnimplementedError("nothing goes into cuDNN's products of bytes");
  }
  GR_ASSIGN_OR_RETURN(bool transposeLhs, attributeOr(step, "transpose_lhs", false));
  if (transposeLhs || lhs.dims.empty() || rhs.dims.size() != 2 || !lhs.layout.empty() ||
      !result.layout.empty()) {
    return absl::UnimplementedError("cuDNN's products of bytes are of dense rows by one matrix");
  }
  return absl::OkStatus();
}

absl::StatusOr<ByteProduct> understand(const Step& step) {
  GR_RETURN_IF_ERROR(checkOperands(step));
  const TensorDesc& rhs = step.inputs[1].desc;
  GR_ASSIGN_OR_RETURN(bool transposed, attributeOr(step, "transpose_rhs", false));
  ByteProduct product;
  product.depth = rhs.dims[transposed ? 1 : 0];
  product.columns = rhs.dims[transposed ? 0 : 1];
  bool isSideBySide = transposed ? rhs.layout.empty() : liesAs(rhs, {1, product.depth});
  if (!isSideBySide) {
    return absl::UnimplementedError(
        "cuDNN's products of bytes want a second operand that lies transposed");
  }
  runtime::TensorSpec lhs = step.inputs[0].desc.spec();
  runtime::TensorSpec result = step.outputs[0].desc.spec();
  if (lhs.elementCount() == 0 || product.columns == 0) {
    return absl::UnimplementedError("a product of nothing");
  }
  product.rows = lhs.elementCount() / lhs.dims.back();
  bool fits = lhs.dims.back() == product.depth && !result.dims.empty() &&
              result.dims.back() == product.columns &&
              result.elementCount() == product.rows * product.columns;
  return fits ? absl::StatusOr<ByteProduct>(product)
              : absl::InvalidArgumentError("the shapes of the operands and the result do not fit");
}

absl::StatusOr<ByteProduct> byteProductOf(const Step& step) {
  absl::StatusOr<ByteProduct> product = understand(step);
  GR_RETURN_IF_ERROR(runtime::annotate(product.status(), step.label));
  return product;
}

}  // namespace

absl::StatusOr<KernelChoice> chooseByteProduct(const Step& step) {
  GR_RETURN_IF_ERROR(byteProductOf(step).status());
  return KernelChoice{cudnnWorkspace(step, false), "cudnn"};
}

absl::StatusOr<CudnnPlan> planByteProduct(const CudnnStep& step, const CudnnTarget& target) {
  GR_ASSIGN_OR_RETURN(ByteProduct product, byteProductOf(step.step));
  GR_ASSIGN_OR_RETURN(CudnnLimits limits, step.limits());
  CudnnGraph graph(target);
  /// An image of `places` places in a column, or filters of one place.
  auto add = [&](const Argument& argument, int64_t images, int64_t channels, int64_t places) {
    return graph.addTensor(argument.desc.type, imageShape({images, channels, places, 1}, true),
                           step.addressOf(argument));
  };
  GR_ASSIGN_OR_RETURN(CudnnTensor rows, add(step.step.inputs[0], 1, product.depth, product.rows));
  GR_ASSIGN_OR_RETURN(CudnnTensor matrix,
                      add(step.step.inputs[1], product.columns, product.depth, 1));
  GR_ASSIGN_OR_RETURN(CudnnTensor result,
                      add(step.step.outputs[0], 1, product.columns, product.rows));
  CudnnWindow window{{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  GR_RETURN_IF_ERROR(
      graph.convolve({CudnnDirection::kForward, window, CUDNN_DATA_INT32}, rows, matrix, result));
  return std::move(graph).plan(limits);
}

}  // namespace graphrun::devices::cuda
