// Constants, shapes and changes of shape.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;

/// The value of attribute `name`, a tensor; null, reported, when it is wrong.
mlir::ElementsAttr tensorAttribute(Node& node, llvm::StringRef name) {
  ::onnx::TensorProto* tensor = node.attributes().tensor(name);
  if (tensor == nullptr) {
    return nullptr;
  }
  std::string problem;
  mlir::ElementsAttr value =
      importTensor(node.builder().getContext(), *tensor, node.outputName(0), problem);
  if (!value) {
    node.fail(absl::StrCat("attribute ", inQuotes(name), " ", problem));
  }
  return value;
}

mlir::ElementsAttr floats(Node& node, llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<float> elements(values.begin(), values.end());
  auto type = mlir::RankedTensorType::get(dims, node.builder().getF32Type());
  return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(elements));
}

mlir::ElementsAttr integers(Node& node, llvm::ArrayRef<int64_t> values,
                            llvm::ArrayRef<int64_t> dims) {
  auto type = mlir::RankedTensorType::get(dims, node.builder().getI64Type());
  return mlir::DenseElementsAttr::get(type, values);
}

mlir::ElementsAttr strings(Node& node, llvm::ArrayRef<llvm::StringRef> values,
                           llvm::ArrayRef<int64_t> dims) {
  return ir::makeStrings(
      mlir::RankedTensorType::get(dims, ir::StringType::get(node.builder().getContext())), values);
}

/// The one value that a Constant holds, in one of several attributes; null when it holds none.
mlir::ElementsAttr constantValue(Node& node) {
  Attributes& attributes = node.attributes();
  if (attributes.has("value")) {
    return tensorAttribute(node, "value");
  }
  if (attributes.has("value_float")) {
    return floats(node, {attributes.real("value_float", 0)}, {});
  }
  if (attributes.has("value_floats")) {
    llvm::SmallVector<double> values = attributes.reals("value_floats");
    return floats(node, values, {static_cast<int64_t>(values.size())});
  }
  if (attributes.has("value_int")) {
    return integers(node, {attributes.integer("value_int", 0)}, {});
  }
  if (attributes.has("value_ints")) {
    Ints values = attributes.integers("value_ints");
    return integers(node, values, {static_cast<int64_t>(values.size())});
  }
  if (attributes.has("value_string")) {
    return strings(node, {attributes.text("value_string", "")}, {});
  }
  if (attributes.has("value_strings")) {
    llvm::SmallVector<llvm::StringRef> values = attributes.texts("value_strings");
    return strings(node, values, {static_cast<int64_t>(values.size())});
  }
  if (attributes.has("sparse_value")) {
    attributes.ignore({"sparse_value"});
    return node.fail(
               "holds a value as \"sparse_value\", which is not supported, expected a dense "
               "tensor"),
           nullptr;
  }
  return node.fail(
             "has no value, expected one of the attributes value, value_float, value_floats, "
             "value_int, value_ints, value_string, value_strings"),
         nullptr;
}

Values constant(Node& node) {
  mlir::ElementsAttr value = constantValue(node);
  return {value ? node.emit("gr.constant", {}, {node.named("value", value)}) : mlir::Value()};
}

Values constantOfShape(Node& node) {
  mlir::ElementsAttr value =
      node.attributes().has("value") ? tensorAttribute(node, "value") : floats(node, {0}, {1});
  if (!value) {
    return {nullptr};
  }
  if (!value.getElementType().isIntOrFloat() && !ir::isStrings(value.getElementType())) {
    // An attribute that no folder looks into, and that gr.fill would have to.
    mlir::Value element = node.emit("gr.constant", {}, {node.named("value", value)});
    return {node.emit("gr.expand", {reshape(node, element, {}), node.input(0)})};
  }
  return {node.emit("gr.fill", {node.input(0)}, {node.named("value", value)})};
}

mlir::Value shapeRange(Node& node, int64_t start, std::optional<int64_t> end) {
  llvm::SmallVector<mlir::NamedAttribute> attributes = {node.integer("start", start)};
  if (end) {
    attributes.push_back(node.integer("end", *end));
  }
  return node.emit("gr.shape", {node.input(0)}, attributes);
}

Values shape(Node& node) {
  int64_t start = node.attributes().integer("start", 0);
  int64_t last = node.attributes().integer("end", 0);
  bool bounded = node.attributes().has("end");
  return {shapeRange(node, start, bounded ? std::optional(last) : std::nullopt)};
}

mlir::Value reshapeTo(Node& node, mlir::Value shape, bool allowZero) {
  return node.emit("gr.reshape", {node.input(0), shape}, {node.boolean("allow_zero", allowZero)});
}

Values reshape(Node& node) {
  bool allowZero = node.attributes().integer("allowzero", 0) != 0;
  return {reshapeTo(node, node.input(1), allowZero)};
}

/// The product of the dims [start, end) of input 0, as a vector of one element.
mlir::Value dimProduct(Node& node, int64_t start, int64_t end) {
  return node.emit(
      "gr.reduce", {shapeRange(node, start, end)},
      {node.text("kind", "prod"), node.integers("axes", {0}), node.boolean("keepdims", true)});
}

/// A matrix of the dims before the axis and those from it on.
Values flatten(Node& node) {
  int64_t given = node.attributes().integer("axis", 1);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> axis = rank && given != *rank ? node.axisOf(given, *rank) : rank;
  if (!axis) {
    return {nullptr};
  }
  ir::Dims dims = *ir::dimsOf(node.input(0));
  ir::Dim rows = ir::product(llvm::ArrayRef<ir::Dim>(dims).take_front(*axis));
  ir::Dim columns = ir::product(llvm::ArrayRef<ir::Dim>(dims).drop_front(*axis));
  if (rows.isStatic() && columns.isStatic()) {
    return {reshapeTo(node, node.constant({rows.value(), columns.value()}), true)};
  }
  if (rows.isStatic() || columns.isStatic()) {
    Ints shape = {rows.isStatic() ? rows.value() : -1, columns.isStatic() ? columns.value() : -1};
    return {reshapeTo(node, node.constant(shape), false)};
  }
  mlir::Value shape =
      node.emit("gr.concat", {dimProduct(node, 0, *axis), dimProduct(node, *axis, *rank)},
                {node.integer("axis", 0)});
  return {reshapeTo(node, shape, false)};
}

/// The axes of an attribute or, since opset 13, of an input; nothing when they are not known.
std::optional<Ints> axesOf(Node& node) {
  Ints axes = node.attributes().integers("axes");
  return node.input(1) ? node.known(node.input(1), "axes") : std::optional(axes);
}

/// The indices of all dims of 1.
std::optional<Ints> dimsOfOne(Node& node) {
  Ints axes;
  for (auto [i, dim] : llvm::enumerate(*ir::dimsOf(node.input(0)))) {
    if (!dim.isStatic()) {
      node.putOff(nullptr);  // whether it is 1 is not known yet
      return std::nullopt;
    }
    if (dim.value() == 1) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  return axes;
}

Values squeeze(Node& node) {
  bool all = !node.attributes().has("axes") && !node.input(1);
  std::optional<Ints> axes = axesOf(node);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (axes && rank) {
    axes = all ? dimsOfOne(node) : node.axesOf(*axes, *rank);
  }
  return {axes && rank ? node.emit("gr.squeeze", {node.input(0)}, {node.integers("axes", *axes)})
                       : mlir::Value()};
}

Values unsqueeze(Node& node) {
  if (node.opset() < 13) {
    node.attributes().require("axes");
  }
  std::optional<Ints> axes = axesOf(node);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (axes && rank) {
    axes = node.axesOf(*axes, *rank + static_cast<int64_t>(axes->size()));
  }
  return {axes && rank ? node.emit("gr.unsqueeze", {node.input(0)}, {node.integers("axes", *axes)})
                       : mlir::Value()};
}

const OpRow kShapeOps[] = {
    {"Constant", 1, kLast, 0, 0, 1, constant},
    {"ConstantOfShape", 9, kLast, 1, 1, 1, constantOfShape},
    {"Shape", 1, kLast, 1, 1, 1, shape},
    {"Reshape", 5, kLast, 2, 2, 1, reshape},
    {"Flatten", 1, kLast, 1, 1, 1, flatten},
    {"Squeeze", 1, 12, 1, 1, 1, squeeze},
    {"Squeeze", 13, kLast, 1, 2, 1, squeeze},
    {"Unsqueeze", 1, 12, 1, 1, 1, unsqueeze},
    {"Unsqueeze", 13, kLast, 2, 2, 1, unsqueeze},
};

}  // namespace

llvm::ArrayRef<OpRow> shapeOps() { return kShapeOps; }

}  // namespace graphrun::frontends
