// Handlers that compose an ONNX operation of several gr operations share these helpers.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_COMPOSE_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_COMPOSE_H_

#include "frontends/onnx/operators/index_helpers.h"

namespace graphrun::frontends {

/// Ignores an attribute that operations of opset 1 have: which inputs may be overwritten.
void ignoreConsumed(Node& node);

/// The operation of the row, of the node's first input.
Values unary(Node& node);

/// The end of a slice that goes as far as the axis does.
inline constexpr int64_t kEnd = INT64_MAX;
/// Normalizations add this to a variance where the node does not say.
inline constexpr double kDefaultEpsilon = 1e-5F;

/// `value` in the element type of `like`. Null for null, as all below.
inline mlir::Value castLike(Node& node, mlir::Value value, mlir::Value like) {
  return like ? castTo(node, value, node.elementOf(like)) : mlir::Value();
}

/// `value`, or its elements as f32 where they are numbers of a type that nothing is computed in:
/// exact.
mlir::Value computable(Node& node, mlir::Value value);

/// The element type that the attribute `name` names by its number in TensorProto.DataType; reports
/// one that GraphRun does not have, or that is not of floating point. Null then.
mlir::Type floatTypeAttribute(Node& node, llvm::StringRef name, int64_t absent);

/// `value op number`, with the number in the element type of `value`.
mlir::Value withScalar(Node& node, llvm::StringRef operation, mlir::Value value, double number);

/// |x| to the power of p, and the p-th root of a sum of such powers.
mlir::Value absolutePower(Node& node, mlir::Value x, double p);
mlir::Value rootOf(Node& node, mlir::Value sum, double p);

/// gr.reduce over `axes`, the reduced dims kept as 1 when asked for. No axes: the value itself.
mlir::Value reduceTo(Node& node, mlir::Value value, llvm::StringRef kind,
                     llvm::ArrayRef<int64_t> axes, bool keepdims);

mlir::Value unsqueeze(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> axes);
mlir::Value transpose(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> permutation);
/// ONNX's reshape: 0 copies a dim, -1 follows from the others.
mlir::Value reshape(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> shape);
mlir::Value reshapeTo(Node& node, mlir::Value value, mlir::Value shape);
mlir::Value concat(Node& node, llvm::ArrayRef<mlir::Value> values, int64_t axis);
/// Elements [start, end) of `axis`, every `step`-th.
mlir::Value slice(Node& node, mlir::Value value, int64_t axis, mlir::Value start, mlir::Value end,
                  int64_t step = 1);
mlir::Value slice(Node& node, mlir::Value value, int64_t axis, int64_t start, int64_t end,
                  int64_t step = 1);

/// N x S x (H * D) as N x H x S x D, and back.
mlir::Value splitHeads(Node& node, mlir::Value value, int64_t heads);
mlir::Value joinHeads(Node& node, mlir::Value value);

/// The dims [start, end) of `value` as a vector of int64.
mlir::Value dims(Node& node, mlir::Value value, int64_t start, int64_t end);
/// 0, 1 … below the size of dim `axis` of `value`, as a vector of int64.
mlir::Value indicesOf(Node& node, mlir::Value value, int64_t axis);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_COMPOSE_H_
