// The operations with windows give these helpers to others.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_OPS_WINDOW_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_OPS_WINDOW_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

/// gr.conv of input, filter and perhaps a bias, with the attributes of ONNX's Conv. Null, reported
/// or put off, when they are wrong or the rank of input 0 is not known.
/// `withoutPads`: the input has been padded already.
mlir::Value convolution(Node& node, const Values& operands, bool withoutPads = false);

/// An input, perhaps with a convolution's padding around it.
struct PaddedInput {
  mlir::Value value;
  bool isPadded = false;
};

/// `x`, padded with `zeroPoint` (a scalar, converted to its type) as the node's attributes tell;
/// not padded where that is null or there are no pads. Nothing where the pads depend on sizes, or
/// the attributes are wrong, which is reported.
std::optional<PaddedInput> paddedInput(Node& node, mlir::Value x, mlir::Value zeroPoint);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_OPS_WINDOW_H_
