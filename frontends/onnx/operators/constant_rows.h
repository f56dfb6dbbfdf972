// Parts of a weight that holds several matrices.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_CONSTANT_ROWS_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_CONSTANT_ROWS_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

/// `value` has the dims D x (count * size) x …, static ones: gives, of its entry `index` along the
/// first dim, the `blocks` of `size` rows each, joined: (blocks * size) x …. Of a constant that is
/// a constant, so that kernels can pack it. Reports another shape as one of `what`.
mlir::Value rowsOf(Node& node, mlir::Value value, llvm::StringRef what, int64_t index, int64_t size,
                   int64_t count, llvm::ArrayRef<int64_t> blocks);

/// A constant of `type` from all its raw elements: held by the context when it is small, else a
/// resource named as the node's first output.
mlir::ElementsAttr makeElements(Node& node, mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_CONSTANT_ROWS_H_
