#include "frontends/onnx/operators/compose.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/tensors.h"
#include "ir/dialect.h"

namespace graphrun::frontends {

void ignoreConsumed(Node& node) {
  if (node.opset() < 6) {
    node.attributes().ignore({"consumed_inputs"});
  }
}

Values unary(Node& node) {
  ignoreConsumed(node);
  return {node.emit(node.target(), {node.input(0)})};
}

mlir::Value computable(Node& node, mlir::Value value) {
  bool as = !value || ir::isStrings(value.getType()) || ir::isComputed(node.elementOf(value));
  return as ? value : castTo(node, value, node.builder().getF32Type());
}

mlir::Type floatTypeAttribute(Node& node, llvm::StringRef name, int64_t absent) {
  auto dataType = static_cast<int32_t>(node.attributes().integer(name, absent));
  mlir::Type type = elementType(node.builder().getContext(), dataType);
  if (type && llvm::isa<mlir::FloatType>(type)) {
    return type;
  }
  node.fail(absl::StrCat("attribute ", inQuotes(name), " is ", dataTypeName(dataType),
                         ", expected FLOAT, DOUBLE, FLOAT16 or BFLOAT16"));
  return nullptr;
}

mlir::Value withScalar(Node& node, llvm::StringRef operation, mlir::Value value, double number) {
  return node.emit(operation, {value, node.scalarLike(value, number)});
}

mlir::Value absolutePower(Node& node, mlir::Value x, double p) {
  if (p == 2) {
    return node.emit("gr.mul", {x, x});
  }
  mlir::Value size = node.emit("gr.abs", {x});
  return p == 1 ? size : withScalar(node, "gr.pow", size, p);
}

mlir::Value rootOf(Node& node, mlir::Value sum, double p) {
  return p == 1   ? sum
         : p == 2 ? node.emit("gr.sqrt", {sum})
                  : withScalar(node, "gr.pow", sum, 1 / p);
}

mlir::Value reduceTo(Node& node, mlir::Value value, llvm::StringRef kind,
                     llvm::ArrayRef<int64_t> axes, bool keepdims) {
  return axes.empty() ? value
                      : node.emit("gr.reduce", {value},
                                  {node.text("kind", kind), node.integers("axes", axes),
                                   node.boolean("keepdims", keepdims)});
}

mlir::Value unsqueeze(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> axes) {
  return axes.empty() ? value : node.emit("gr.unsqueeze", {value}, {node.integers("axes", axes)});
}

mlir::Value transpose(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> permutation) {
  return node.emit("gr.transpose", {value}, {node.integers("permutation", permutation)});
}

mlir::Value reshape(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> shape) {
  return node.emit("gr.reshape", {value, node.constant(shape)});
}

mlir::Value reshapeTo(Node& node, mlir::Value value, mlir::Value shape) {
  // A dim of 0 is one of the result, and is not copied from a value that may have other dims.
  return node.emit("gr.reshape", {value, shape}, {node.boolean("allow_zero", true)});
}

mlir::Value concat(Node& node, llvm::ArrayRef<mlir::Value> values, int64_t axis) {
  return node.emit("gr.concat", values, {node.integer("axis", axis)});
}

mlir::Value slice(Node& node, mlir::Value value, int64_t axis, mlir::Value start, mlir::Value end,
                  int64_t step) {
  return node.emit("gr.slice", {value, start, end, node.constant({axis}), node.constant({step})});
}

mlir::Value slice(Node& node, mlir::Value value, int64_t axis, int64_t start, int64_t end,
                  int64_t step) {
  return slice(node, value, axis, node.constant({start}), node.constant({end}), step);
}

mlir::Value splitHeads(Node& node, mlir::Value value, int64_t heads) {
  return transpose(node, reshape(node, value, {0, 0, heads, -1}), {0, 2, 1, 3});
}

mlir::Value joinHeads(Node& node, mlir::Value value) {
  return reshape(node, transpose(node, value, {0, 2, 1, 3}), {0, 0, -1});
}

mlir::Value dims(Node& node, mlir::Value value, int64_t start, int64_t end) {
  return node.emit("gr.shape", {value}, {node.integer("start", start), node.integer("end", end)});
}

mlir::Value indicesOf(Node& node, mlir::Value value, int64_t axis) {
  if (!node.rankOf(value)) {
    return nullptr;
  }
  ir::Dim dim = (*ir::dimsOf(value))[axis];
  if (dim.isStatic()) {
    llvm::SmallVector<int64_t> indices(dim.value());
    std::iota(indices.begin(), indices.end(), 0);
    return node.constant(indices);
  }
  return rangeTo(node, dims(node, value, axis, axis + 1));
}

}  // namespace graphrun::frontends
