// Gradient rules of normalisations, softmax and attention. Each reads what the operation read and
// computes its statistics anew: simplification finds those that the forward pass has, too.
#include <cmath>

#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

/// A vector of the channels (dim 1) as it broadcasts over a tensor of `rank`.
Term perChannel(GradientBuilder& b, Term vector, int64_t rank) {
  llvm::SmallVector<int64_t> dims(rank, 1);
  dims[1] = vector.dims()[0];
  return b.reshape(vector, dims);
}

/// Sums over all dims but the channels'.
Term sumOfChannels(GradientBuilder& b, Term x) {
  if (x.isZero()) {
    return x;
  }
  llvm::SmallVector<int64_t> axes = axesFrom(0, x.rank());
  axes.erase(axes.begin() + 1);
  return b.reshape(b.sum(x, axes), {x.dims()[1]});
}

/// A tensor of which mean and variance over some axes have been made 0 and 1.
struct Normalized {
  Term value;    ///< (x - mean) * inverse
  Term inverse;  ///< 1 / sqrt(variance + epsilon)

  Normalized(GradientBuilder& b, Term x, llvm::ArrayRef<int64_t> axes, double epsilon) {
    Term centred = x - b.mean(x, axes);
    inverse = apply("gr.reciprocal", sqrt(b.mean(centred * centred, axes) + epsilon));
    value = centred * inverse;
  }

  /// The gradient of x, of that of `value`.
  Term back(GradientBuilder& b, Term gradient, llvm::ArrayRef<int64_t> axes) const {
    Term rest = gradient - b.mean(gradient, axes);
    return inverse * (rest - value * b.mean(gradient * value, axes));
  }
};

}  // namespace

mlir::LogicalResult BatchNormOp::buildGradient(GradientBuilder& b) {
  const Term dy = b.gradient();
  auto channels = [&](unsigned i) { return perChannel(b, b.operand(i), dy.rank()); };
  Term inverse = apply("gr.reciprocal", sqrt(channels(4) + getEpsilon().convertToDouble()));
  Term dx = dy * (channels(1) * inverse);
  Term centred = b.operand(0) - channels(3);
  b.give(0, dx);
  if (b.wants(1)) {
    b.give(1, sumOfChannels(b, dy * centred * inverse));
  }
  if (b.wants(2)) {
    b.give(2, sumOfChannels(b, dy));
  }
  if (b.wants(3)) {
    b.give(3, -sumOfChannels(b, dx));
  }
  if (b.wants(4)) {
    b.give(4, sumOfChannels(b, dx * centred * (inverse * inverse)) * -0.5);
  }
  return mlir::success();
}

mlir::LogicalResult BatchNormTrainingOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  Term dx;
  if (!b.gradient(0).isZero()) {
    llvm::SmallVector<Term> gradients = b.emitMany(
        "gr.batch_norm_backward", {x, b.operand(1), b.result(1), b.result(2), b.gradient(0)},
        {b.real("epsilon", getEpsilon().convertToDouble())}, /*results=*/3);
    dx = gradients[0];
    for (unsigned i : {1U, 2U}) {
      if (b.wants(i)) {
        b.give(i, gradients[i]);
      }
    }
  }
  auto channels = [&](Term vector) {
    return vector.isZero() ? vector : perChannel(b, vector, x.rank());
  };
  const double count = static_cast<double>(countOf(x.dims())) / static_cast<double>(x.dims()[1]);
  dx = dx + channels(b.gradient(1)) * (1 / count) +
       channels(b.gradient(2)) * (x - channels(b.result(1))) * (2 / count);
  if (b.wants(0)) {
    b.give(0, dx);
  }
  return mlir::success();
}

mlir::LogicalResult InstanceNormOp::buildGradient(GradientBuilder& b) {
  const Term dy = b.gradient();
  llvm::SmallVector<int64_t> axes = axesFrom(2, dy.rank());
  Normalized x(b, b.operand(0), axes, getEpsilon().convertToDouble());
  b.give(0, x.back(b, dy * perChannel(b, b.operand(1), dy.rank()), axes));
  if (b.wants(1)) {
    b.give(1, sumOfChannels(b, dy * x.value));
  }
  if (b.wants(2)) {
    b.give(2, sumOfChannels(b, dy));
  }
  return mlir::success();
}

mlir::LogicalResult LayerNormOp::buildGradient(GradientBuilder& b) {
  const Term dy = b.gradient();
  int64_t first = getAxis() < 0 ? getAxis() + dy.rank() : getAxis();
  const double epsilon = getEpsilon().convertToDouble();
  if (b.operand(1).dims() == dy.dims().drop_front(first)) {
    llvm::SmallVector<Term> gradients =
        b.emitMany("gr.layer_norm_backward", {b.operand(0), b.operand(1), dy},
                   {b.integer("axis", first), b.real("epsilon", epsilon)}, /*results=*/3);
    for (unsigned i = 0; i < getNumOperands(); ++i) {
      if (b.wants(i)) {
        b.give(i, gradients[i]);
      }
    }
    return mlir::success();
  }
  llvm::SmallVector<int64_t> axes = axesFrom(first, dy.rank());
  Normalized x(b, b.operand(0), axes, epsilon);
  b.give(0, x.back(b, dy * b.operand(1), axes));
  if (b.wants(1)) {
    b.give(1, dy * x.value);
  }
  if (getBias() && b.wants(2)) {
    b.give(2, dy);
  }
  return mlir::success();
}

// y = x s^-beta, where s = bias + alpha / size * (sum of squares over a window of channels).
mlir::LogicalResult LrnOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const Term dy = b.gradient();
  auto size = static_cast<double>(getSize());
  const int64_t before = (getSize() - 1) / 2;
  const int64_t behind = getSize() - 1 - before;
  const llvm::SmallVector<int64_t> planes = {x.dims()[0], 1, x.dims()[1],
                                             countOf(x.dims().drop_front(2))};
  // Sums over windows that reach so far before and behind each channel.
  auto windowSum = [&](Term values, int64_t begin, int64_t end) {
    Term means = b.emit("gr.avg_pool", {b.reshape(values, planes)},
                        {b.integers("kernel", {getSize(), 1}), b.integers("strides", {1, 1}),
                         b.integers("dilations", {1, 1}), b.integers("pads", {begin, 0, end, 0}),
                         b.boolean("count_include_pad", true)});
    return b.reshape(means, x.dims()) * size;
  };
  const double alpha = getAlpha().convertToDouble() / size;
  const double beta = getBeta().convertToDouble();
  Term s = windowSum(x * x, before, behind) * alpha + getBias().convertToDouble();
  Term power = apply("gr.pow", s, -beta);
  // A channel lies in the windows of those as far behind as its own window reaches before it.
  Term others = windowSum(dy * x * power / s, behind, before);
  b.give(0, dy * power - x * others * (2 * alpha * beta));
  return mlir::success();
}

mlir::LogicalResult SoftmaxOp::buildGradient(GradientBuilder& b) {
  const Term y = b.result();
  const Term dy = b.gradient();
  if (y.rank() == 0) {
    return mlir::success();  // of one element it is 1, or 0 as a logarithm
  }
  b.give(0, b.emit("gr.softmax_backward", {y, dy},
                   {b.integer("axis", getAxis()), b.boolean("log", getLog())}));
  return mlir::success();
}

namespace {

/// Attention with its parts in the layout of two products: the heads that share one of the keys are
/// further rows of its query.
class AttentionParts {
 public:
  AttentionParts(GradientBuilder& b, AttentionOp op)
      : b_(b), query_(b.operand(0)), key_(b.operand(1)), value_(b.operand(2)) {
    heads_ = {query_.dims()[0], query_.dims()[1], query_.dims()[2], key_.dims()[2]};
    scale_ = op.getScale().convertToDouble();
    hasMask_ = op.getMask() != nullptr;
    Term scores = perHead(b.matmul(rows(query_), key_, false, true) * scale_);
    if (hasMask_) {
      scores = scores + b.operand(3);
    }
    if (op.getCausal()) {
      llvm::ArrayRef<int64_t> square = heads_;
      Term sees = lessEqual(b.positions(3, square), b.positions(2, square));
      scores = select(sees, scores, -INFINITY);
    }
    weights_ = b.emit("gr.softmax", {scores});
  }

  void giveAll() {
    Term dy = rows(b_.gradient());
    Term dWeights = perHead(b_.matmul(dy, value_, false, true));
    Term dScores = weights_ * (dWeights - b_.sum(dWeights * weights_, {3}));
    if (b_.wants(0)) {
      Term dQuery = b_.matmul(rows(dScores), key_, false, false) * scale_;
      b_.give(0, b_.reshape(dQuery, query_.dims()));
    }
    if (b_.wants(1)) {
      b_.give(1, b_.matmul(rows(dScores), rows(query_), true, false) * scale_);
    }
    if (b_.wants(2)) {
      b_.give(2, b_.matmul(rows(weights_), dy, true, false));
    }
    if (hasMask_ && b_.wants(3)) {
      b_.give(3, dScores);
    }
  }

 private:
  /// N x H x S x any as N x G x (H / G * S) x any.
  Term rows(Term x) {
    int64_t groups = key_.dims()[1];
    return b_.reshape(x, {heads_[0], groups, heads_[1] / std::max<int64_t>(groups, 1) * heads_[2],
                          x.dims().back()});
  }
  /// And back.
  Term perHead(Term x) { return b_.reshape(x, {heads_[0], heads_[1], heads_[2], x.dims().back()}); }

  GradientBuilder& b_;
  Term query_, key_, value_, weights_;
  llvm::SmallVector<int64_t> heads_;  ///< dims of the scores
  double scale_;
  bool hasMask_;
};

}  // namespace

mlir::LogicalResult AttentionOp::buildGradient(GradientBuilder& b) {
  AttentionParts(b, *this).giveAll();
  return mlir::success();
}

}  // namespace graphrun::ir
