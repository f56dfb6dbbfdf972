// Products of 8-bit integers with zero points are built in the form that kernels multiply fast: u8
// by i8.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_QUANTIZED_PRODUCTS_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_QUANTIZED_PRODUCTS_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

/// An operand of 8-bit integers, and what is taken off its elements: null, or a value that
/// broadcasts to them.
struct QuantizedOperand {
  mlir::Value value;
  mlir::Value zeroPoint;
};

/// The matrix product of `lhs - lhs's zero point` and `rhs - rhs's zero point`, exact in i32.
mlir::Value quantizedMatMul(Node& node, const QuantizedOperand& lhs, const QuantizedOperand& rhs);

/// The same for the convolution that the node's attributes describe. The zero point of `x` is a
/// scalar, that of `filter` a scalar or one a channel of the result. `bias` (i32, one a channel)
/// may be null.
mlir::Value quantizedConvolution(Node& node, const QuantizedOperand& x,
                                 const QuantizedOperand& filter, mlir::Value bias);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_QUANTIZED_PRODUCTS_H_
