// ai.onnx.preview.training: steps of optimizers. Their operands are a learning rate, the number of
// the step, then all values, all gradients, and the state of all values.
#include <functional>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/operators/ml_helpers.h"

namespace graphrun::frontends {
namespace {

/// An Update reads for one value: itself, its gradient, one or two states; it gives: itself and its
/// states anew.
using Update = std::function<Values(mlir::Value rate, mlir::Value step, Values operands)>;

mlir::Value times(Node& node, mlir::Value value, double factor) {
  return value ? mul(node, value, node.scalarLike(value, factor)) : mlir::Value();
}

/// The gradient with that of the regularisation term.
mlir::Value regularized(Node& node, mlir::Value value, mlir::Value gradient) {
  return add(node, times(node, value, node.attributes().real("norm_coefficient", 0)), gradient);
}

/// Runs `update` for each value; `states` is how many each one has.
Values forEachValue(Node& node, size_t states, const Update& update) {
  size_t each = 2 + states;
  size_t inputs = node.inputs().size() - 2;
  size_t values = inputs / each;
  if (inputs % each != 0 || values == 0 || node.outputCount() != values * (1 + states)) {
    node.fail(absl::StrCat("has ", inputs, " inputs behind the step and ", node.outputCount(),
                           " outputs, expected ", each, " and ", 1 + states, " for each value"));
    return Values(node.outputCount());
  }
  Values results(node.outputCount());
  for (size_t i = 0; i < values; ++i) {
    Values operands;
    for (size_t part = 0; part < each; ++part) {
      operands.push_back(node.input(2 + part * values + i));
    }
    mlir::Type element = node.elementOf(operands[0]);
    Values made = update(castTo(node, scalarOf(node, node.input(0)), element),
                         castTo(node, scalarOf(node, node.input(1)), element), operands);
    for (size_t part = 0; part < made.size(); ++part) {
      results[part * values + i] = made[part];
    }
  }
  return results;
}

Values adagrad(Node& node) {
  double decay = node.attributes().real("decay_factor", 0);
  double epsilon = node.attributes().real("epsilon", 1e-6F);
  return forEachValue(node, 1, [&](mlir::Value rate, mlir::Value step, Values x) -> Values {
    mlir::Value one = node.scalarLike(x[0], 1);
    mlir::Value slowed = div(node, rate, add(node, one, times(node, step, decay)));
    mlir::Value gradient = regularized(node, x[0], x[1]);
    mlir::Value squares = add(node, x[2], mul(node, gradient, gradient));
    mlir::Value size = add(node, node.emit("gr.sqrt", {squares}), node.scalarLike(x[0], epsilon));
    return {sub(node, x[0], div(node, mul(node, slowed, gradient), size)), squares};
  });
}

/// state * keep + what * (1 - keep).
mlir::Value blend(Node& node, mlir::Value state, mlir::Value what, double keep) {
  return add(node, times(node, state, keep), times(node, what, 1 - keep));
}

/// 1 - base^step.
mlir::Value bias(Node& node, mlir::Value step, double base) {
  mlir::Value power = node.emit("gr.pow", {node.scalarLike(step, base), step});
  return sub(node, node.scalarLike(step, 1), power);
}

Values adam(Node& node) {
  double alpha = node.attributes().real("alpha", 0.9F);
  double beta = node.attributes().real("beta", 0.999F);
  double epsilon = node.attributes().real("epsilon", 1e-6F);
  double after = node.attributes().real("norm_coefficient_post", 0);
  return forEachValue(node, 2, [&](mlir::Value rate, mlir::Value step, Values x) -> Values {
    mlir::Value gradient = regularized(node, x[0], x[1]);
    mlir::Value mean = blend(node, x[2], gradient, alpha);
    mlir::Value squares = blend(node, x[3], mul(node, gradient, gradient), beta);
    mlir::Value size = add(node, node.emit("gr.sqrt", {squares}), node.scalarLike(x[0], epsilon));
    // Step 0 is not corrected; its 0 / 0 is not looked at.
    mlir::Value corrected =
        div(node, mul(node, rate, node.emit("gr.sqrt", {bias(node, step, beta)})),
            bias(node, step, alpha));
    mlir::Value later = greater(node, step, node.scalarLike(step, 0));
    mlir::Value speed = select(node, later, corrected, rate);
    mlir::Value moved = sub(node, x[0], mul(node, speed, div(node, mean, size)));
    return {times(node, moved, 1 - after), mean, squares};
  });
}

Values momentum(Node& node) {
  for (llvm::StringRef name : {"alpha", "beta", "mode", "norm_coefficient"}) {
    node.attributes().require(name);
  }
  double alpha = node.attributes().real("alpha", 0);
  double beta = node.attributes().real("beta", 0);
  std::string mode = node.attributes().text("mode", "standard");
  if (mode != "standard" && mode != "nesterov") {
    node.fail(absl::StrCat("mode is ", inQuotes(mode), ", expected standard or nesterov"));
  }
  return forEachValue(node, 1, [&](mlir::Value rate, mlir::Value step, Values x) -> Values {
    mlir::Value gradient = regularized(node, x[0], x[1]);
    mlir::Value later = greater(node, step, node.scalarLike(step, 0));
    mlir::Value share = select(node, later, node.scalarLike(x[0], beta), node.scalarLike(x[0], 1));
    mlir::Value speed = add(node, times(node, x[2], alpha), mul(node, share, gradient));
    mlir::Value descent =
        mode == "nesterov" ? add(node, gradient, times(node, speed, alpha)) : speed;
    return {sub(node, x[0], mul(node, rate, descent)), speed};
  });
}

const OpRow kTrainingOps[] = {
    {"ai.onnx.preview.training.Adagrad", 1, 1, 5, kMany, kMany, adagrad},
    {"ai.onnx.preview.training.Adam", 1, 1, 6, kMany, kMany, adam},
    {"ai.onnx.preview.training.Momentum", 1, 1, 5, kMany, kMany, momentum},
};

}  // namespace

llvm::ArrayRef<OpRow> trainingOps() { return kTrainingOps; }

}  // namespace graphrun::frontends
