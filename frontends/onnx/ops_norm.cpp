// Normalisations and softmax.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"

namespace graphrun::frontends {
namespace {

constexpr double kEpsilon = 1e-5F;

mlir::Value castLike(Node& node, mlir::Value value, mlir::Value like) {
  mlir::Type type = node.elementOf(like);
  return node.elementOf(value) == type
             ? value
             : node.emit("gr.cast", {value}, {node.named("to", mlir::TypeAttr::get(type))});
}

Values batchNorm(Node& node) {
  Attributes& attributes = node.attributes();
  attributes.ignore({"momentum", "is_test"});
  double epsilon = attributes.real("epsilon", kEpsilon);
  if (attributes.integer("spatial", 1) != 1) {
    return {node.fail("spatial is 0 (statistics for each element), expected 1")};
  }
  if (attributes.integer("training_mode", 0) != 0) {
    return {node.fail("training_mode is set; export the model for inference")};
  }
  for (size_t i = 1; i < node.outputCount(); ++i) {
    node.refuseOutput(i, "a statistic of training");
  }
  // Since opset 15 the parameters may have types of their own.
  Values operands = {node.input(0)};
  for (size_t i = 1; i < 5; ++i) {
    operands.push_back(castLike(node, node.input(i), node.input(0)));
  }
  return {node.emit("gr.batch_norm", operands, {node.real("epsilon", epsilon)})};
}

Values instanceNorm(Node& node) {
  double epsilon = node.attributes().real("epsilon", kEpsilon);
  return {node.emit("gr.instance_norm", node.inputs(), {node.real("epsilon", epsilon)})};
}

Values layerNorm(Node& node) {
  node.attributes().ignore({"stash_type"});  // the precision of the statistics within
  int64_t axis = node.attributes().integer("axis", -1);
  double epsilon = node.attributes().real("epsilon", kEpsilon);
  node.refuseOutput(1, "the mean");
  node.refuseOutput(2, "the inverse deviation");
  Values operands = {node.input(0), node.input(1)};
  if (node.input(2)) {
    operands.push_back(node.input(2));
  }
  return {node.emit("gr.layer_norm", operands,
                    {node.integer("axis", axis), node.real("epsilon", epsilon)})};
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
  mlir::Value flat = node.emit("gr.reshape", {x, node.constant(shape)});
  mlir::Value normal = softmaxAlong(node, flat, *axis);
  return {node.emit("gr.reshape", {normal, node.emit("gr.shape", {x})})};
}

constexpr int kLast = kLastOpset;
const OpRow kRows[] = {
    {"BatchNormalization", 6, 13, 5, 5, 5, batchNorm},
    {"BatchNormalization", 14, kLast, 5, 5, 3, batchNorm},
    {"InstanceNormalization", 6, kLast, 3, 3, 1, instanceNorm},
    {"LayerNormalization", 17, kLast, 2, 3, 3, layerNorm},
    {"LRN", 1, kLast, 1, 1, 1, lrn},
    {"Softmax", 1, kLast, 1, 1, 1, softmax},
    {"LogSoftmax", 1, kLast, 1, 1, 1, softmax, "log"},
};

}  // namespace

llvm::ArrayRef<OpRow> normOps() { return kRows; }

}  // namespace graphrun::frontends
