// Conversion between element types, as ONNX's Cast does it.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_CONVERSION_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_CONVERSION_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

/// `value` converted to `element`, with the node's attributes "saturate" and "round_mode". Null
/// for null.
mlir::Value converted(Node& node, mlir::Value value, mlir::Type element);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_CONVERSION_H_
