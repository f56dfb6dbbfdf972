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

absl::Status checkOperands(const Instruction& instruction) {
  if (instruction.operation != "gr.matmul" || instruction.inputs.size() < 2 ||
      instruction.outputs.size() != 1) {
    return absl::InvalidArgumentError("expected gr.matmul of two operands");
  }
  const TensorDesc& lhs = instruction.inputs[0].desc;
  const TensorDesc& rhs = instruction.inputs[1].desc;
  const TensorDesc& result = instruction.outputs[0].desc;
  if (lhs.type != ElementType::kU8 || rhs.type != ElementType::kI8 ||
      result.type != ElementType::kI32) {
    return absl::UnimplementedError("cuDNN's products are of u8 by i8 to i32");
  }
  if (instruction.inputs.size() != 2 || !instruction.postOps.empty()) {
    return absl::UnimplementedError("nothing goes into cuDNN's products of bytes");
  }
  GR_ASSIGN_OR_RETURN(bool transposeLhs, attributeOr(instruction, "transpose_lhs", false));
  if (transposeLhs || lhs.dims.empty() || rhs.dims.size() != 2 || !lhs.layout.empty() ||
      !result.layout.empty()) {
    return absl::UnimplementedError("cuDNN's products of bytes are of dense rows by one matrix");
  }
  return absl::OkStatus();
}

absl::StatusOr<ByteProduct> understand(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkOperands(instruction));
  const TensorDesc& rhs = instruction.inputs[1].desc;
  GR_ASSIGN_OR_RETURN(bool transposed, attributeOr(instruction, "transpose_rhs", false));
  ByteProduct product;
  product.depth = rhs.dims[transposed ? 1 : 0];
  product.columns = rhs.dims[transposed ? 0 : 1];
  bool isSideBySide = transposed ? rhs.layout.empty() : liesAs(rhs, {1, product.depth});
  if (!isSideBySide) {
    return absl::UnimplementedError(
        "cuDNN's products of bytes want a second operand that lies transposed");
  }
  runtime::TensorSpec lhs = instruction.inputs[0].desc.spec();
  runtime::TensorSpec result = instruction.outputs[0].desc.spec();
  if (lhs.elementCount() == 0 || product.columns == 0) {
    return absl::UnimplementedError("the product is one of nothing");
  }
  product.rows = lhs.elementCount() / lhs.dims.back();
  bool fits = lhs.dims.back() == product.depth && !result.dims.empty() &&
              result.dims.back() == product.columns &&
              result.elementCount() == product.rows * product.columns;
  return fits ? absl::StatusOr<ByteProduct>(product)
              : absl::InvalidArgumentError("the shapes of the operands and the result do not fit");
}

absl::StatusOr<ByteProduct> byteProductOf(const Instruction& instruction) {
  absl::StatusOr<ByteProduct> product = understand(instruction);
  GR_RETURN_IF_ERROR(runtime::annotate(product.status(), instruction.label));
  return product;
}

}  // namespace

absl::StatusOr<KernelChoice> chooseByteProduct(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(byteProductOf(instruction).status());
  return KernelChoice{cudnnWorkspace(instruction, false), "cudnn"};
}

absl::StatusOr<CudnnPlan> planByteProduct(const CudnnInstruction& known,
                                          const CudnnTarget& target) {
  GR_ASSIGN_OR_RETURN(ByteProduct product, byteProductOf(known.instruction));
  GR_ASSIGN_OR_RETURN(CudnnLimits limits, known.limits());
  CudnnGraph graph(target);
  /// An image of `positions` positions in a column, or filters of one position.
  auto add = [&](const Argument& argument, int64_t images, int64_t channels, int64_t positions) {
    return graph.addTensor(argument.desc.type, imageShape({images, channels, positions, 1}, true),
                           known.addressOf(argument));
  };
  GR_ASSIGN_OR_RETURN(CudnnTensor rows,
                      add(known.instruction.inputs[0], 1, product.depth, product.rows));
  GR_ASSIGN_OR_RETURN(CudnnTensor matrix,
                      add(known.instruction.inputs[1], product.columns, product.depth, 1));
  GR_ASSIGN_OR_RETURN(CudnnTensor result,
                      add(known.instruction.outputs[0], 1, product.columns, product.rows));
  CudnnWindow window{{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  GR_RETURN_IF_ERROR(
      graph.convolve({CudnnDirection::kForward, window, CUDNN_DATA_INT32}, rows, matrix, result));
  return std::move(graph).plan(limits);
}

}  // namespace graphrun::devices::cuda
