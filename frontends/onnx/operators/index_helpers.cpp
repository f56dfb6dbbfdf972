#include "frontends/onnx/operators/index_helpers.h"

#include "frontends/onnx/operators/ops_string.h"
#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::frontends {

std::optional<int64_t> axisOf(Node& node, int64_t absent) {
  int64_t given = node.attributes().integer("axis", absent);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  return rank ? node.axisOf(given, *rank) : std::nullopt;
}

mlir::Value castTo(Node& node, mlir::Value value, mlir::Type element) {
  if (!value || node.elementOf(value) == element) {
    return value;
  }
  if (ir::isStrings(value.getType()) || ir::isStrings(element)) {
    return castStrings(node, value, element);
  }
  return node.emit("gr.cast", {value}, {node.named("to", mlir::TypeAttr::get(element))});
}

mlir::Value dimOf(Node& node, mlir::Value value, int64_t axis) {
  return node.emit("gr.shape", {value},
                   {node.integer("start", axis), node.integer("end", axis + 1)});
}

mlir::Value dimProduct(Node& node, mlir::Value value, int64_t start, int64_t end) {
  mlir::Value dims =
      node.emit("gr.shape", {value}, {node.integer("start", start), node.integer("end", end)});
  return node.emit(
      "gr.reduce", {dims},
      {node.text("kind", "prod"), node.integers("axes", {0}), node.boolean("keepdims", true)});
}

mlir::Value intScalar(Node& node, int64_t value) {
  return node.emit("gr.squeeze", {node.constant({value})}, {node.integers("axes", {0})});
}

mlir::Value scalarOf(Node& node, mlir::Value value) {
  auto type = value ? llvm::dyn_cast<mlir::RankedTensorType>(value.getType()) : nullptr;
  return type && type.getRank() == 0 ? value : node.emit("gr.reshape", {value, node.constant({})});
}

mlir::Value rangeTo(Node& node, mlir::Value limit) {
  return node.emit("gr.range", {intScalar(node, 0), scalarOf(node, limit), intScalar(node, 1)});
}

mlir::Value withTrailing(Node& node, mlir::Value vector, int64_t count) {
  return count <= 0
             ? vector
             : node.emit(
                   "gr.unsqueeze", {vector},
                   {node.integers("axes", llvm::to_vector(llvm::seq<int64_t>(1, count + 1)))});
}

mlir::Value firstOf(Node& node, mlir::Value value, mlir::Value count, int64_t axis) {
  return node.emit("gr.slice",
                   {value, node.constant({0}), count, node.constant({axis}), node.constant({1})});
}

mlir::Value reshapeTo(Node& node, mlir::Value value, llvm::ArrayRef<mlir::Value> parts) {
  mlir::Value shape =
      parts.empty() ? node.constant({}) : node.emit("gr.concat", parts, {node.integer("axis", 0)});
  return node.emit("gr.reshape", {value, shape}, {node.boolean("allow_zero", true)});
}

mlir::Value permuted(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> permutation) {
  bool moves = !llvm::is_sorted(permutation);
  return moves ? node.emit("gr.transpose", {value}, {node.integers("permutation", permutation)})
               : value;
}

}  // namespace graphrun::frontends
