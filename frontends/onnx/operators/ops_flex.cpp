// Attention whose scores and probabilities a subgraph of the model changes (ai.onnx.preview).
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::frontends {
namespace {

/// The subgraph of attribute `name` in place, applied to `value`; the value itself without one.
mlir::Value modified(Node& node, llvm::StringRef name, mlir::Value value) {
  if (!value || node.failed() || !node.attributes().has(name)) {
    return value;
  }
  Values outputs = node.importBody(name, *node.builder().getInsertionBlock(), {value});
  if (node.failed() || outputs.size() != 1) {
    return node.failed() ? nullptr
                         : node.fail(absl::StrCat(name.str(), " has ", outputs.size(),
                                                  " outputs, expected 1"));
  }
  return outputs[0];
}

/// Dims [start, end) of `value` as a vector.
mlir::Value dimsOf(Node& node, mlir::Value value, int64_t start, int64_t end) {
  return node.emit("gr.shape", {value}, {node.integer("start", start), node.integer("end", end)});
}

/// `value` with the dims that `parts` give one after the other.
mlir::Value shaped(Node& node, mlir::Value value, llvm::ArrayRef<mlir::Value> parts) {
  return reshapeTo(node, value, parts);
}

/// The number by which the scores are multiplied: given, or 1 / sqrt(head size).
mlir::Value scaleOf(Node& node, bool given, double scale, mlir::Type element) {
  mlir::Value query = node.input(0);
  if (given) {
    return ir::createScalar(node.builder(), node.location(), element, scale);
  }
  mlir::Value size =
      node.emit("gr.squeeze", {dimsOf(node, query, 3, 4)}, {node.integers("axes", {0})});
  return node.emit("gr.reciprocal", {node.emit("gr.sqrt", {castTo(node, size, element)})});
}

/// The element type in which the softmax is computed; null, reported, for one that is not of
/// floating point.
mlir::Type precisionOf(Node& node, mlir::Type element) {
  int64_t absent = element.isF64() ? ::onnx::TensorProto::DOUBLE : ::onnx::TensorProto::FLOAT;
  auto number = static_cast<int32_t>(node.attributes().integer("softmax_precision", absent));
  mlir::Type type = elementType(node.builder().getContext(), number);
  if (!llvm::isa_and_nonnull<mlir::FloatType>(type)) {
    node.fail(absl::StrCat("softmax_precision is ", dataTypeName(number),
                           ", expected a floating-point type"));
    return nullptr;
  }
  return type;
}

Values flexAttention(Node& node) {
  bool hasScale = node.attributes().has("scale");
  double scale = node.attributes().real("scale", 0);
  mlir::Value query = node.input(0), key = node.input(1), value = node.input(2);
  mlir::Type element = node.elementOf(query);
  mlir::Type precision = precisionOf(node, element);
  if (!precision) {
    return {nullptr};
  }
  // Query heads that share a key are rows of one batch: N x heads of K x group x L x E.
  mlir::Value rest = node.constant({-1});
  mlir::Value heads = dimsOf(node, key, 0, 2);
  auto axes = node.integers("axes", {2});
  mlir::Value grouped = shaped(node, query, {heads, rest, dimsOf(node, query, 2, 4)});
  mlir::Value scores = node.emit("gr.matmul", {grouped, node.emit("gr.unsqueeze", {key}, {axes})},
                                 {node.boolean("transpose_rhs", true)});
  scores = castTo(node, scores, precision);
  scores = node.emit("gr.mul", {scores, scaleOf(node, hasScale, scale, precision)});
  scores = shaped(node, scores, {dimsOf(node, query, 0, 3), dimsOf(node, key, 2, 3)});
  scores = modified(node, "score_mod", scores);
  mlir::Value weights = node.emit("gr.softmax", {scores}, {node.integer("axis", -1)});
  weights = modified(node, "prob_mod", weights);
  weights =
      shaped(node, weights, {heads, rest, dimsOf(node, query, 2, 3), dimsOf(node, key, 2, 3)});
  mlir::Value unsqueezed = node.emit("gr.unsqueeze", {value}, {axes});
  mlir::Value mixed = node.emit("gr.matmul", {weights, castTo(node, unsqueezed, precision)});
  mixed = shaped(node, mixed, {dimsOf(node, query, 0, 3), dimsOf(node, value, 3, 4)});
  return {castTo(node, mixed, element)};
}

const OpRow kFlexOps[] = {
    {"ai.onnx.preview.FlexAttention", 1, kLastOpset, 3, 3, 1, flexAttention},
};

}  // namespace

llvm::ArrayRef<OpRow> flexOps() { return kFlexOps; }

}  // namespace graphrun::frontends
