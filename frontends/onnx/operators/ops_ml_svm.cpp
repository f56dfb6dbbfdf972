// ai.onnx.ml: support vector machines, as matrix products with what the kernel gives.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/operators/ml_helpers.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;
using Reals = llvm::SmallVector<double>;

struct Machine {
  std::string kernel;
  double gamma = 0, offset = 0, degree = 0;
  Reals coefficients, rho, vectors;
  std::string transform;
};

Machine readMachine(Node& node) {
  Machine machine;
  machine.kernel = node.attributes().text("kernel_type", "LINEAR");
  Reals parameters = node.attributes().reals("kernel_params");
  parameters.resize(std::max<size_t>(parameters.size(), 3), 0);
  machine.gamma = parameters[0];
  machine.offset = parameters[1];
  machine.degree = parameters[2];
  machine.coefficients = node.attributes().reals("coefficients");
  machine.rho = node.attributes().reals("rho");
  machine.vectors = node.attributes().reals("support_vectors");
  machine.transform = node.attributes().text("post_transform", "NONE");
  return machine;
}

/// The kernel of each row of `x` with each of the rows of `vectors`.
mlir::Value kernelOf(Node& node, const Machine& machine, mlir::Value x, mlir::Value vectors) {
  if (!x || !vectors) {
    return nullptr;
  }
  if (machine.kernel == "RBF") {
    mlir::Value distance = node.emit("gr.squared_distance", {x, vectors});
    return node.emit("gr.exp", {mul(node, distance, node.scalarLike(x, -machine.gamma))});
  }
  mlir::Value product = node.emit("gr.matmul", {x, vectors}, {node.boolean("transpose_rhs", true)});
  if (machine.kernel == "LINEAR") {
    return product;
  }
  mlir::Value scaled = add(node, mul(node, product, node.scalarLike(x, machine.gamma)),
                           node.scalarLike(x, machine.offset));
  if (machine.kernel == "POLY") {
    return node.emit("gr.pow", {scaled, node.scalarLike(x, machine.degree)});
  }
  if (machine.kernel == "SIGMOID") {
    return node.emit("gr.tanh", {scaled});
  }
  return node.fail(absl::StrCat("kernel_type is ", inQuotes(machine.kernel),
                                ", expected LINEAR, POLY, RBF or SIGMOID"));
}

/// `values` as a constant matrix with `rows` rows, to go with `x`.
mlir::Value matrixOf(Node& node, mlir::Value x, llvm::ArrayRef<double> values, int64_t rows,
                     llvm::StringRef what) {
  auto count = static_cast<int64_t>(values.size());
  if (rows < 1 || count == 0 || count % rows != 0) {
    return node.fail(
        absl::StrCat("has ", count, " ", what.str(), ", expected a multiple of ", rows));
  }
  return x ? realConstant(node, values, node.elementOf(x), {rows, count / rows}) : mlir::Value();
}

Values svmRegressor(Node& node) {
  Machine machine = readMachine(node);
  int64_t supports = node.attributes().integer("n_supports", 0);
  bool oneClass = node.attributes().integer("one_class", 0) != 0;
  mlir::Value x = asReal(node, asMatrix(node, node.input(0)));
  if (machine.rho.empty() || !x) {
    return {x ? node.fail("has no rho") : nullptr};
  }
  mlir::Value coefficients = matrixOf(node, x, machine.coefficients, 1, "coefficients");
  mlir::Value kernel = x;
  if (supports > 0) {
    kernel =
        kernelOf(node, machine, x, matrixOf(node, x, machine.vectors, supports, "support_vectors"));
  }
  mlir::Value result = add(
      node, node.emit("gr.matmul", {kernel, coefficients}, {node.boolean("transpose_rhs", true)}),
      node.scalarLike(x, machine.rho[0]));
  if (oneClass) {
    result = select(node, greater(node, result, node.scalarLike(x, 0)), node.scalarLike(x, 1),
                    node.scalarLike(x, -1));
  }
  return {toFloat(node, postTransform(node, result, machine.transform))};
}

/// Machines of each two classes i < j, in this order.
class PairMachines {
 public:
  PairMachines(Node& node, const Machine& machine, Ints vectors, int64_t classes)
      : node_(node), machine_(machine), counts_(std::move(vectors)), classes_(classes) {
    for (int64_t count : counts_) {
      starts_.push_back(total_);
      total_ += count;
    }
  }

  int64_t pairs() const { return classes_ * (classes_ - 1) / 2; }

  /// The decision of each machine, one a column: positive for the first class.
  mlir::Value decisions(mlir::Value x) {
    auto rows = static_cast<size_t>(std::max<int64_t>(classes_ - 1, 1));
    bool fits = static_cast<int64_t>(counts_.size()) == classes_ && classes_ > 1 &&
                machine_.coefficients.size() == rows * static_cast<size_t>(total_) &&
                static_cast<int64_t>(machine_.rho.size()) >= pairs();
    if (!fits) {
      return node_.fail(absl::StrCat(
          "has ", counts_.size(), " vectors_per_class, ", machine_.coefficients.size(),
          " coefficients and ", machine_.rho.size(), " rho for ", classes_, " classes, expected ",
          classes_, ", ", rows * static_cast<size_t>(total_), " and ", pairs()));
    }
    Reals weights(static_cast<size_t>(total_ * pairs()), 0);
    int64_t pair = 0;
    for (int64_t i = 0; i < classes_; ++i) {
      for (int64_t j = i + 1; j < classes_; ++j, ++pair) {
        addWeights(weights, pair, i, j - 1);
        addWeights(weights, pair, j, i);
      }
    }
    mlir::Value kernel = kernelOf(node_, machine_, x,
                                  matrixOf(node_, x, machine_.vectors, total_, "support_vectors"));
    Reals rho(machine_.rho.begin(), machine_.rho.begin() + pairs());
    return kernel ? add(node_,
                        node_.emit("gr.matmul", {kernel, matrixOf(node_, x, weights, total_, "")}),
                        realConstant(node_, rho, node_.elementOf(x)))
                  : mlir::Value();
  }

  /// Returns how many machines decide for each class.
  mlir::Value votes(mlir::Value decisions) {
    if (!decisions) {
      return nullptr;
    }
    Reals first, second;
    for (int64_t i = 0; i < classes_; ++i) {
      for (int64_t j = i + 1; j < classes_; ++j) {
        for (int64_t c = 0; c < classes_; ++c) {
          first.push_back(c == i ? 1 : 0);
          second.push_back(c == j ? 1 : 0);
        }
      }
    }
    mlir::Value yes = castTo(node_, greater(node_, decisions, node_.scalarLike(decisions, 0)),
                             node_.elementOf(decisions));
    mlir::Value no = sub(node_, node_.scalarLike(decisions, 1), yes);
    return add(node_, node_.emit("gr.matmul", {yes, matrixOf(node_, yes, first, pairs(), "")}),
               node_.emit("gr.matmul", {no, matrixOf(node_, yes, second, pairs(), "")}));
  }

  /// The probability of each class (Platt's, of each pair, coupled).
  mlir::Value probabilities(mlir::Value decisions, llvm::ArrayRef<double> a,
                            llvm::ArrayRef<double> b) {
    auto wanted = static_cast<size_t>(pairs());
    if (a.size() != wanted || b.size() != wanted || !decisions) {
      return decisions ? node_.fail(absl::StrCat("has ", a.size(), " prob_a and ", b.size(),
                                                 " prob_b, expected ", wanted))
                       : nullptr;
    }
    mlir::Type element = node_.elementOf(decisions);
    mlir::Value exponent = add(node_, mul(node_, decisions, realConstant(node_, a, element)),
                               realConstant(node_, b, element));
    mlir::Value first =
        node_.emit("gr.clip", {node_.emit("gr.sigmoid", {node_.emit("gr.neg", {exponent})})},
                   {node_.real("low", 1e-7), node_.real("high", 1 - 1e-7)});
    // Element (i, j) of the matrix of pairs: of pair (i, j), of its opposite, or nothing.
    Ints indices;
    auto indexOf = [&](int64_t i, int64_t j) { return i * classes_ - i * (i + 1) / 2 + j - i - 1; };
    for (int64_t i = 0; i < classes_; ++i) {
      for (int64_t j = 0; j < classes_; ++j) {
        indices.push_back(i == j ? 0 : i < j ? indexOf(i, j) : pairs() + indexOf(j, i));
      }
    }
    mlir::Value both = beside(node_, {first, sub(node_, node_.scalarLike(decisions, 1), first)});
    mlir::Value flat =
        node_.emit("gr.gather", {both, node_.constant(indices)}, {node_.integer("axis", 1)});
    mlir::Value matrix = node_.emit("gr.reshape", {flat, node_.constant({-1, classes_, classes_})});
    return node_.emit("gr.couple_probabilities", {matrix});
  }

 private:
  /// The vectors of class `of` count for `pair` with the coefficients in `row`.
  void addWeights(Reals& weights, int64_t pair, int64_t of, int64_t row) {
    for (int64_t v = starts_[of]; v < starts_[of] + counts_[of]; ++v) {
      weights[static_cast<size_t>(v * pairs() + pair)] =
          machine_.coefficients[static_cast<size_t>(row * total_ + v)];
    }
  }

  Node& node_;
  const Machine& machine_;
  Ints counts_, starts_;
  int64_t classes_;
  int64_t total_ = 0;
};

/// The scores at the end: one decision stands for two classes, the second of which comes first in
/// sign.
mlir::Value finalScores(Node& node, const Machine& machine, mlir::Value scores, int64_t columns) {
  if (columns == 1) {
    scores = beside(node, {node.emit("gr.neg", {scores}), scores});
  }
  return toFloat(node, postTransform(node, scores, machine.transform));
}

Values svmClassifier(Node& node) {
  Machine machine = readMachine(node);
  Ints perClass = node.attributes().integers("vectors_per_class");
  Reals a = node.attributes().reals("prob_a");
  Reals b = node.attributes().reals("prob_b");
  mlir::Value labels = labelsOf(node, "classlabels_ints", "classlabels_strings");
  mlir::Value x = asReal(node, asMatrix(node, node.input(0)));
  if (machine.rho.empty() || !x || !labels) {
    return {machine.rho.empty() ? node.fail("has no rho") : nullptr, nullptr};
  }
  int64_t classes = llvm::cast<mlir::ShapedType>(labels.getType()).getNumElements();
  if (perClass.empty()) {  // one row of coefficients a class
    mlir::Value weights = matrixOf(node, x, machine.coefficients, classes, "coefficients");
    machine.kernel = "LINEAR";
    mlir::Value scores =
        add(node, kernelOf(node, machine, x, weights), node.scalarLike(x, machine.rho[0]));
    return {labelAt(node, labels, argMax(node, scores)),
            finalScores(node, machine, scores, classes)};
  }
  PairMachines pairs(node, machine, perClass, classes);
  mlir::Value decisions = pairs.decisions(x);
  if (!a.empty()) {
    mlir::Value likely = pairs.probabilities(decisions, a, b);
    return {labelAt(node, labels, argMax(node, pairs.votes(decisions))),
            toFloat(node, postTransform(node, likely, machine.transform))};
  }
  return {labelAt(node, labels, argMax(node, pairs.votes(decisions))),
          finalScores(node, machine, decisions, pairs.pairs())};
}

const OpRow kMlSvmOps[] = {
    {"ai.onnx.ml.SVMClassifier", 1, kLastMl, 1, 1, 2, svmClassifier},
    {"ai.onnx.ml.SVMRegressor", 1, kLastMl, 1, 1, 1, svmRegressor},
};

}  // namespace

llvm::ArrayRef<OpRow> mlSvmOps() { return kMlSvmOps; }

}  // namespace graphrun::frontends
