// What the operations with windows give to others.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPS_WINDOW_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPS_WINDOW_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

/// gr.conv of input, filter and perhaps a bias, with the attributes of ONNX's Conv. Null, reported
/// or put off, when they are wrong or the rank of input 0 is not known.
mlir::Value convolution(Node& node, const Values& operands);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPS_WINDOW_H_
