// Normalisations that are gr operations of their own, and softmax.
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"

namespace graphrun::frontends {
namespace {

Values instanceNorm(Node& node) {
  ignoreConsumed(node);
  double epsilon = node.attributes().real("epsilon", kDefaultEpsilon);
  return {node.emit("gr.instance_norm", node.inputs(), {node.real("epsilon", epsilon)})};
}

Values lrn(Node& node) {
  Attributes& attributes = node.attributes();
  attributes.require("size");
  return {node.emit("gr.lrn", {node.input(0)},
                    {node.integer("size", attributes.integer("size", 1)),
                     node.real("alpha", attributes.real("alpha", 1e-4F)),
                     node.real("beta", attributes.real("beta", 0.75)),
                     node.real("bias", attributes.real("bias", 1))})};
}

/// Softmax or, for the target "log", its logarithm along one axis of `x`.
mlir::Value softmaxAlong(Node& node, mlir::Value x, int64_t axis) {
  return node.emit("gr.softmax", {x},
                   {node.integer("axis", axis), node.boolean("log", node.target() == "log")});
}

/// Before opset 13 all dims from the axis on are normalised together.
Values softmax(Node& node) {
  bool flattens = node.opset() < 13;
  int64_t given = node.attributes().integer("axis", flattens ? 1 : -1);
  mlir::Value x = node.input(0);
  std::optional<int64_t> rank = node.rankOf(x);
  if (!rank) {
    return {nullptr};
  }
  std::optional<int64_t> axis = node.axisOf(given, std::max<int64_t>(*rank, 1));
  if (!axis || !flattens || *axis + 1 >= *rank) {
    return {axis ? softmaxAlong(node, x, *axis) : mlir::Value()};
  }
  llvm::SmallVector<int64_t> shape(*axis, 0);
  shape.push_back(-1);
  mlir::Value normal = softmaxAlong(node, reshape(node, x, shape), *axis);
  return {reshapeTo(node, normal, node.emit("gr.shape", {x}))};
}

const OpRow kNormOps[] = {
    {"InstanceNormalization", 1, kLast, 3, 3, 1, instanceNorm},
    {"LRN", 1, kLast, 1, 1, 1, lrn},
    {"Softmax", 1, kLast, 1, 1, 1, softmax},
    {"LogSoftmax", 1, kLast, 1, 1, 1, softmax, "log"},
};

}  // namespace

llvm::ArrayRef<OpRow> normOps() { return kNormOps; }

}  // namespace graphrun::frontends
