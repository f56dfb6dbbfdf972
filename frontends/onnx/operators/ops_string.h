// Other families use these helpers for operations on strings.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_OPS_STRING_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_OPS_STRING_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

/// `input` as element type `to`, where one of the two types is of strings. Null where its elements
/// are not known yet, or are no numbers, which is reported.
mlir::Value castStrings(Node& node, mlir::Value input, mlir::Type to);

/// Returns the results of a Unique of strings that is to be sorted. Null values where the strings
/// are not known yet.
Values uniqueStrings(Node& node);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_OPS_STRING_H_
