// Pieces that lowerings to compositions share: dims as values, positions, casts.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_INDEX_HELPERS_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_INDEX_HELPERS_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

// All of them pass a null value on, as Node::emit does.

/// The attribute "axis", `absent` where it is left out, in [0, rank of input 0); nothing when it is
/// wrong.
std::optional<int64_t> axisOf(Node& node, int64_t absent);
/// `value` with another element type; itself when it has that one.
mlir::Value castTo(Node& node, mlir::Value value, mlir::Type element);
/// Dim `axis` of `value` as an i64 vector of one element.
mlir::Value dimOf(Node& node, mlir::Value value, int64_t axis);
/// The product of the dims [start, end) of `value`, as an i64 vector of one element.
mlir::Value dimProduct(Node& node, mlir::Value value, int64_t start, int64_t end);
/// An i64 scalar constant.
mlir::Value intScalar(Node& node, int64_t value);
/// A tensor of one element as a scalar.
mlir::Value scalarOf(Node& node, mlir::Value value);
/// 0, 1 … up to `limit`, an i64 tensor of one element.
mlir::Value rangeTo(Node& node, mlir::Value limit);
/// A vector with `count` dims of 1 behind it; none where `count` is not above 0, as of an operand
/// whose rank is wrong.
mlir::Value withTrailing(Node& node, mlir::Value vector, int64_t count);
/// The first `count` (an i64 vector of one element) slices of `value` along `axis`.
mlir::Value firstOf(Node& node, mlir::Value value, mlir::Value count, int64_t axis);
/// `value` with the dims of the vector `shape`, made of parts of one element or more.
mlir::Value reshapeTo(Node& node, mlir::Value value, llvm::ArrayRef<mlir::Value> parts);
/// gr.transpose, or `value` itself when nothing moves.
mlir::Value permuted(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> permutation);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_INDEX_HELPERS_H_
