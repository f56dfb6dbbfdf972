// A gr.matmul instruction as a column-major library takes it. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUBLASLT_MATRIX_PRODUCT_H_
#define GRAPHRUN_DEVICES_CUDA_CUBLASLT_MATRIX_PRODUCT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// A matrix as it lies in memory, column by column.
struct ColumnMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  bool transposed = false;  ///< it enters the product so
  int64_t batchStride = 0;  ///< elements from one matrix of a batch to the next; 0: one for all

  bool operator==(const ColumnMatrix&) const = default;
};

/// The function that is applied to a product before it is stored.
enum class Activation : uint8_t { kNone, kRelu, kGeluTanh };

/// result = activation(factor * left * right + bias + what the result's buffer holds). A row-major
/// matrix is a column-major one transposed, so left and right change places: `left` is the
/// instruction's second operand.
struct MatrixProduct {
  runtime::ElementType type = runtime::ElementType::kInvalid;  ///< of the result and the bias
  runtime::ElementType leftType =
      runtime::ElementType::kInvalid;  ///< as the result's, or of 8 bits
  runtime::ElementType rightType = runtime::ElementType::kInvalid;
  double factor = 1;
  ColumnMatrix left;
  ColumnMatrix right;
  ColumnMatrix result;
  int64_t batch = 1;
  bool hasBias = false;      ///< the instruction's third operand: one value a row of the result
  bool accumulates = false;  ///< adds what the result's buffer holds
  Activation activation = Activation::kNone;
  bool tf32 = false;  ///< of f32: factors are rounded to ten bits of mantissa, sums are exact f32
};

/// Attribute of a product of 8-bit floats: one number, that products of their elements are
/// multiplied by.
inline constexpr char kScales[] = "scales";

/// True for the 8-bit floating-point types that tensor cores multiply.
bool isTensorCoreFloat8(runtime::ElementType type);

/// The product of an instruction of gr.matmul with dense operands: attributes "transpose_lhs",
/// "transpose_rhs", "tf32", kScales; post-ops: a sum, then relu or gelu_tanh. InvalidArgument for
/// shapes that do not fit. Unimplemented where the library needs more than one call (batches that
/// broadcast against each other, empty matrices, other types and post-ops).
///
/// Operands of 8-bit floats follow the rules of GPUs before sm_100, which hold on all later ones,
/// too: one matrix each, rows of both whose elements are multiplied with each other lie side by
/// side (the second operand is transposed, or has the strides of such a one), sums of a multiple of
/// 16 products, a multiple of 16 columns, one of the two of e4m3, and no bias of f32.
absl::StatusOr<MatrixProduct> matrixProductOf(const Instruction& instruction);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUBLASLT_MATRIX_PRODUCT_H_
