// Activation functions.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"

namespace graphrun::frontends {
namespace {

/// An activation with the parameter alpha, whose default is the gr operation's own.
mlir::Value withAlpha(Node& node, double alpha) {
  ignoreConsumed(node);
  return node.emit(node.target(), {node.input(0)},
                   {node.real("alpha", node.attributes().real("alpha", alpha))});
}
Values leakyRelu(Node& node) { return {withAlpha(node, 0.01F)}; }
Values elu(Node& node) { return {withAlpha(node, 1)}; }

/// Opset 1 had the parameters in fewer digits.
Values selu(Node& node) {
  ignoreConsumed(node);
  bool first = node.opset() < 6;
  double alpha = node.attributes().real("alpha", first ? 1.6732F : 1.67326319217681884765625);
  double gamma = node.attributes().real("gamma", first ? 1.0507F : 1.05070102214813232421875);
  return {node.emit("gr.selu", {node.input(0)},
                    {node.real("alpha", alpha), node.real("gamma", gamma)})};
}

Values hardSigmoid(Node& node) {
  ignoreConsumed(node);
  double alpha = node.attributes().real("alpha", 0.2F);
  double beta = node.attributes().real("beta", 0.5);
  return {node.emit("gr.hard_sigmoid", {node.input(0)},
                    {node.real("alpha", alpha), node.real("beta", beta)})};
}

Values gelu(Node& node) {
  std::string approximate = node.attributes().text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return {node.fail(
        absl::StrCat("approximate is ", inQuotes(approximate), ", expected \"none\" or \"tanh\""))};
  }
  return {
      node.emit("gr.gelu", {node.input(0)}, {node.boolean("approximate", approximate == "tanh")})};
}

/// Before opset 7 a slope of more than one element belongs to the channels, dim 1.
Values prelu(Node& node) {
  ignoreConsumed(node);
  mlir::Value slope = node.input(1);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> slopeRank = node.rankOf(slope);
  if (node.opset() < 7 && rank && slopeRank && *slopeRank == 1 && *rank > 2) {
    llvm::SmallVector<int64_t> trailing;
    for (int64_t i = 1; i < *rank - 1; ++i) {
      trailing.push_back(i);
    }
    slope = node.emit("gr.unsqueeze", {slope}, {node.integers("axes", trailing)});
  }
  return {node.emit("gr.prelu", {node.input(0), slope})};
}

/// x / (1 + |x|)
Values softsign(Node& node) {
  mlir::Value x = node.input(0);
  mlir::Value size = node.emit("gr.abs", {x});
  return {node.emit("gr.div", {x, node.emit("gr.add", {size, node.scalarLike(x, 1)})})};
}

/// x + bias below -lambd, x - bias above lambd, 0 between them. Integers are computed in f64, as
/// lambd and bias are real, and truncated.
Values shrink(Node& node) {
  double bias = node.attributes().real("bias", 0);
  double lambd = node.attributes().real("lambd", 0.5);
  mlir::Value x = node.input(0);
  if (x && node.elementOf(x).isInteger()) {
    x = castTo(node, x, node.builder().getF64Type());
  }
  mlir::Value above = node.emit("gr.less", {node.scalarLike(x, lambd), x});
  mlir::Value below = node.emit("gr.less", {x, node.scalarLike(x, -lambd)});
  mlir::Value shift = node.scalarLike(x, bias);
  mlir::Value inner =
      node.emit("gr.where", {above, node.emit("gr.sub", {x, shift}), node.scalarLike(x, 0)});
  mlir::Value result = node.emit("gr.where", {below, node.emit("gr.add", {x, shift}), inner});
  return {castLike(node, result, node.input(0))};
}

/// max(x, 0) + alpha * (e^(min(x, 0) / alpha) - 1): a quotient of large x would be infinite.
Values celu(Node& node) {
  double alpha = node.attributes().real("alpha", 1);
  if (alpha == 0) {
    return {node.fail("alpha is 0, expected another value")};
  }
  mlir::Value x = node.input(0);
  if (alpha == 1) {
    return {node.emit("gr.elu", {x}, {node.real("alpha", 1)})};
  }
  mlir::Value below = withScalar(node, "gr.div", withScalar(node, "gr.min", x, 0), alpha);
  mlir::Value curve = withScalar(node, "gr.mul", node.emit("gr.expm1", {below}), alpha);
  return {node.emit("gr.add", {withScalar(node, "gr.max", x, 0), curve})};
}

/// x * tanh(softplus(x))
Values mish(Node& node) {
  mlir::Value x = node.input(0);
  return {node.emit("gr.mul", {x, node.emit("gr.tanh", {node.emit("gr.softplus", {x})})})};
}

/// x * sigmoid(alpha * x)
mlir::Value swishOf(Node& node, mlir::Value x) {
  return node.emit("gr.swish", {x}, {node.real("alpha", node.attributes().real("alpha", 1))});
}
Values swish(Node& node) { return {swishOf(node, node.input(0))}; }

/// The first input's swish gates the second.
Values swiGlu(Node& node) {
  return {node.emit("gr.mul", {swishOf(node, node.input(0)), node.input(1)})};
}

/// x above alpha, else 0.
Values thresholdedRelu(Node& node) {
  double alpha = node.attributes().real("alpha", 1);
  mlir::Value x = node.input(0);
  mlir::Value above = node.emit("gr.less", {node.scalarLike(x, alpha), x});
  return {node.emit("gr.where", {above, x, node.scalarLike(x, 0)})};
}

const OpRow kActivationOps[] = {
    {"LeakyRelu", 1, kLast, 1, 1, 1, leakyRelu, "gr.leaky_relu"},
    {"Elu", 1, kLast, 1, 1, 1, elu, "gr.elu"},
    {"Selu", 1, kLast, 1, 1, 1, selu},
    {"HardSigmoid", 1, kLast, 1, 1, 1, hardSigmoid},
    {"Gelu", 20, kLast, 1, 1, 1, gelu},
    {"PRelu", 1, kLast, 2, 2, 1, prelu},
    {"Softsign", 1, kLast, 1, 1, 1, softsign},
    {"Celu", 12, kLast, 1, 1, 1, celu},
    {"Mish", 18, kLast, 1, 1, 1, mish},
    {"Swish", 24, kLast, 1, 1, 1, swish},
    {"SwiGLU", 28, kLast, 2, 2, 1, swiGlu},
    {"ThresholdedRelu", 10, kLast, 1, 1, 1, thresholdedRelu},
    {"Shrink", 9, kLast, 1, 1, 1, shrink},
};

}  // namespace

llvm::ArrayRef<OpRow> activationOps() { return kActivationOps; }

}  // namespace graphrun::frontends
