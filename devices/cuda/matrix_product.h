// A gr.matmul step as a column-major library takes it. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_MATRIX_PRODUCT_H_
#define GRAPHRUN_DEVICES_CUDA_MATRIX_PRODUCT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "devices/executable.h"

namespace graphrun::devices::cuda {

/// A matrix as it lies in memory, column by column.
struct ColumnMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  bool transposed = false;  ///< it enters the product so
  int64_t batchStride = 0;  ///< elements from one matrix of a batch to the next; 0: one for all

  bool operator==(const ColumnMatrix&) const = default;
};

/// What is done with a product before it is stored.
enum class Activation : uint8_t { kNone, kRelu, kGeluTanh };

/// result = activation(left * right + bias + what the result's buffer holds), all of one type. A
/// row-major matrix is a column-major one transposed, so left and right change places: `left` is
/// the step's second operand.
struct MatrixProduct {
  runtime::ElementType type = runtime::ElementType::kInvalid;
  ColumnMatrix left;
  ColumnMatrix right;
  ColumnMatrix result;
  int64_t batch = 1;
  bool hasBias = false;      ///< the step's third operand: one value a row of the result
  bool accumulates = false;  ///< adds what the result's buffer holds
  Activation activation = Activation::kNone;
  bool tf32 = false;  ///< of f32: factors are rounded to ten bits of mantissa, sums are exact f32
};

/// Of a step of gr.matmul with dense operands: attributes "transpose_lhs", "transpose_rhs", "tf32";
/// post-ops: a sum, then relu or gelu_tanh. InvalidArgument for shapes that do not fit,
/// Unimplemented for what the library does not do in one call (batches that broadcast against each
/// other, empty matrices, other types and post-ops).
absl::StatusOr<MatrixProduct> matrixProductOf(const Step& step);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_MATRIX_PRODUCT_H_
