// Parts of a weight that holds several matrices.
#ifndef GRAPHRUN_FRONTENDS_ONNX_CONSTANT_ROWS_H_
#define GRAPHRUN_FRONTENDS_ONNX_CONSTANT_ROWS_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

/// `value` has the dims D x (count * size) x …, static ones: gives, of its entry `index` along the
/// first dim, the `blocks` of `size` rows each, joined: (blocks * size) x …. Of a constant that is
/// a constant, so that kernels can pack it. Reports another shape as one of `what`.
mlir::Value rowsOf(Node& node, mlir::Value value, llvm::StringRef what, int64_t index, int64_t size,
                   int64_t count, llvm::ArrayRef<int64_t> blocks);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_CONSTANT_ROWS_H_
