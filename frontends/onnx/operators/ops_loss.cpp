// Losses of classification.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"
#include "frontends/onnx/operators/index_helpers.h"

namespace graphrun::frontends {
namespace {

/// `scores` (N x C x D1 …) at the class that `target` (N x D1 …) names for each position.
mlir::Value scoreOfTarget(Node& node, mlir::Value scores, mlir::Value target) {
  mlir::Value picked = node.emit("gr.gather_elements", {scores, unsqueeze(node, target, {1})},
                                 {node.integer("axis", 1)});
  return node.emit("gr.squeeze", {picked}, {node.integers("axes", {1})});
}

/// Returns the weight of each position: its class's weight, 0 where the target is ignored; null
/// when all count 1.
/// 1. `ignored` is null when no target is.
mlir::Value placeWeights(Node& node, mlir::Value scores, mlir::Value target, mlir::Value ignored) {
  if (!node.input(2)) {
    return ignored ? castLike(node, node.emit("gr.not", {ignored}), scores) : mlir::Value();
  }
  mlir::Value weights = node.emit("gr.gather", {node.input(2), target}, {node.integer("axis", 0)});
  return ignored ? node.emit("gr.where", {ignored, node.scalarLike(weights, 0), weights}) : weights;
}

/// The loss of each position, or over all of them as `reduction` says.
mlir::Value reduceLoss(Node& node, mlir::Value loss, mlir::Value weights, int64_t rank,
                       llvm::StringRef reduction) {
  llvm::SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (reduction == "none") {
    return loss;
  }
  if (reduction == "sum" || !weights) {
    return reduceTo(node, loss, reduction, all, false);
  }
  mlir::Value total = reduceTo(node, weights, "sum", all, false);
  return node.emit("gr.div", {reduceTo(node, loss, "sum", all, false), total});
}

/// The negative log-likelihood of the targets (input 1), where `scores` are log-probabilities.
mlir::Value negativeLogLikelihood(Node& node, mlir::Value scores) {
  std::string reduction = node.attributes().text("reduction", "mean");
  bool ignores = node.attributes().has("ignore_index");
  int64_t ignoreIndex = node.attributes().integer("ignore_index", 0);
  mlir::Value target = node.input(1);
  std::optional<int64_t> rank = node.rankOf(scores);
  if (!rank || !target) {
    return nullptr;
  }
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    return node.fail(absl::StrCat("reduction is ", inQuotes(reduction),
                                  ", expected \"none\", \"mean\" or \"sum\""));
  }
  if (*rank < 2) {
    return node.fail(absl::StrCat("input 0 is of rank ", *rank, ", expected N x C x other dims"));
  }
  mlir::Value ignored;
  if (ignores) {
    mlir::Value index = intScalar(node, ignoreIndex);
    ignored = node.emit("gr.equal", {castLike(node, target, index), index});
    // What is ignored need not be a class.
    target = node.emit("gr.where", {ignored, node.scalarLike(target, 0), target});
  }
  mlir::Value weights = placeWeights(node, scores, target, ignored);
  mlir::Value loss = node.emit("gr.neg", {scoreOfTarget(node, scores, target)});
  if (ignored) {
    loss = node.emit("gr.where", {ignored, node.scalarLike(loss, 0), loss});
  }
  loss = weights ? node.emit("gr.mul", {loss, weights}) : loss;
  return reduceLoss(node, loss, weights, *rank - 1, reduction);
}

Values nllLoss(Node& node) { return {negativeLogLikelihood(node, node.input(0))}; }

Values softmaxCrossEntropy(Node& node) {
  mlir::Value logarithms = node.emit("gr.softmax", {node.input(0)},
                                     {node.integer("axis", 1), node.boolean("log", true)});
  return {negativeLogLikelihood(node, logarithms), logarithms};
}

const OpRow kLossOps[] = {
    {"NegativeLogLikelihoodLoss", 12, kLast, 2, 3, 1, nllLoss},
    {"SoftmaxCrossEntropyLoss", 12, kLast, 2, 3, 2, softmaxCrossEntropy},
};

}  // namespace

llvm::ArrayRef<OpRow> lossOps() { return kLossOps; }

}  // namespace graphrun::frontends
