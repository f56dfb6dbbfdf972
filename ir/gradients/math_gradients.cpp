// Gradient rules of reductions, running sums and matrix products.
#include <cmath>

#include "ir/dims.h"
#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

/// The dims of a reduction's operand with the reduced ones as 1.
llvm::SmallVector<int64_t> keptDims(ReduceOp op) {
  llvm::SmallVector<int64_t> dims(
      llvm::cast<mlir::RankedTensorType>(op.getInput().getType()).getShape());
  for (int64_t axis : op.getAxes()) {
    dims[axis] = 1;
  }
  return dims;
}

/// The elements that one element of the result is made of.
int64_t reducedCount(Term x, llvm::ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes) {
    count *= x.dims()[axis];
  }
  return count;
}

/// Products of all other elements along the axes: those before times those behind, so that zeros do
/// no harm.
Term productOfOthers(GradientBuilder& b, Term x, llvm::ArrayRef<int64_t> axes) {
  llvm::SmallVector<int64_t> order;  // reduced axes last
  llvm::SmallVector<int64_t> outer;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (!llvm::is_contained(axes, axis)) {
      order.push_back(axis);
      outer.push_back(x.dims()[axis]);
    }
  }
  auto line = static_cast<int64_t>(outer.size());
  order.append(axes.begin(), axes.end());
  outer.push_back(reducedCount(x, axes));
  Term sorted = b.transpose(x, order);
  llvm::SmallVector<int64_t> sortedDims(sorted.dims());
  Term lines = b.reshape(sorted, outer);
  Term before = b.cumulative(lines, line, "prod", /*exclusive=*/true, /*reverse=*/false);
  Term behind = b.cumulative(lines, line, "prod", /*exclusive=*/true, /*reverse=*/true);
  llvm::SmallVector<int64_t> back(order.size());
  for (auto [i, axis] : llvm::enumerate(order)) {
    back[axis] = static_cast<int64_t>(i);
  }
  return b.transpose(b.reshape(before * behind, sortedDims), back);
}

}  // namespace

mlir::LogicalResult ReduceOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const llvm::SmallVector<int64_t> kept = keptDims(*this);
  const Term dy = b.reshape(b.gradient(), kept);
  auto y = [&] { return b.reshape(b.result(), kept); };
  Term dx;
  switch (getKind()) {
    case ReduceKind::kSum:
      dx = dy;
      break;
    case ReduceKind::kMean:
      dx = dy / static_cast<double>(reducedCount(x, getAxes()));
      break;
    case ReduceKind::kMax:
    case ReduceKind::kMin: {
      // Equal elements share.
      Term best = b.castTo(equal(x, y()), x.element());
      dx = best * (dy / b.sum(best, getAxes()));
      break;
    }
    case ReduceKind::kProd:
      dx = dy * productOfOthers(b, x, getAxes());
      break;
    case ReduceKind::kLogSumExp: {
      // Where all elements are -inf so is y, and exp(x) is 0.
      Term finite = select(less(abs(y()), INFINITY), y(), Term());
      dx = dy * exp(x - finite);
      break;
    }
  }
  b.give(0, b.expand(dx, x.dims()));
  return mlir::success();
}

mlir::LogicalResult CumulativeOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const Term dy = b.gradient();
  std::optional<llvm::SmallVector<int64_t>> axes = constantInts(getAxis());
  if (!axes || axes->size() != 1) {
    return b.refuse(0, "its axis is not a constant");
  }
  int64_t axis = axes->front() < 0 ? axes->front() + x.rank() : axes->front();
  if (getKind() == ReduceKind::kSum) {
    b.give(0, b.cumulative(dy, axis, "sum", getExclusive(), !getReverse()));
    return mlir::success();
  }
  // Result i changes with element k by the product of the other elements in it: with a line for
  // each k, in which that element is 1. So zeros do no harm.
  int64_t size = x.dims()[axis];
  llvm::SmallVector<int64_t> line(x.dims());
  line.insert(line.begin() + axis, 1);
  llvm::SmallVector<int64_t> square(line);
  square[axis] = size;
  Term k = b.positions(axis, square);
  Term i = b.positions(axis + 1, square);
  Term others = select(equal(k, i), b.scalar(1, x.element()), b.reshape(x, line));
  Term products = b.cumulative(others, axis + 1, "prod", getExclusive(), getReverse());
  Term first = getReverse() ? i : k;
  Term second = getReverse() ? k : i;
  Term reaches = getExclusive() ? less(first, second) : lessEqual(first, second);
  Term parts = select(reaches, b.reshape(dy, line) * products, Term());
  b.give(0, b.reshape(b.sum(parts, {axis + 1}), x.dims()));
  return mlir::success();
}

mlir::LogicalResult MatMulOp::buildGradient(GradientBuilder& b) {
  Term lhs = b.operand(0);
  Term rhs = b.operand(1);
  const bool isRow = lhs.rank() == 1;
  const bool isColumn = rhs.rank() == 1;
  const bool transposeLhs = getTransposeLhs();
  const bool transposeRhs = getTransposeRhs();
  // A vector is a matrix of one row or column; with it the result has a dim that was dropped.
  llvm::SmallVector<int64_t> dims(b.gradient().dims());
  if (isColumn) {
    dims.push_back(1);
    rhs = b.reshape(rhs, transposeRhs ? llvm::SmallVector<int64_t>{1, rhs.dims()[0]}
                                      : llvm::SmallVector<int64_t>{rhs.dims()[0], 1});
  }
  if (isRow) {
    dims.insert(dims.end() - 1, 1);
    lhs = b.reshape(lhs, transposeLhs ? llvm::SmallVector<int64_t>{lhs.dims()[0], 1}
                                      : llvm::SmallVector<int64_t>{1, lhs.dims()[0]});
  }
  Term dy = b.reshape(b.gradient(), dims);
  auto giveAs = [&](unsigned operand, Term gradient, Term matrix, bool isVector) {
    gradient = b.sumTo(gradient, matrix.dims());
    b.give(operand, isVector ? b.reshape(gradient, b.operand(operand).dims()) : gradient);
  };
  if (b.wants(0)) {
    giveAs(0,
           transposeLhs ? b.matmul(rhs, dy, transposeRhs, true)
                        : b.matmul(dy, rhs, false, !transposeRhs),
           lhs, isRow);
  }
  if (b.wants(1)) {
    if (rhs.rank() == 2 && lhs.rank() > 2 && !transposeLhs) {
      // One matrix for all batches: their rows are those of one product, which needs no sum.
      int64_t rows = countOf(llvm::ArrayRef(dims).drop_back());
      lhs = b.reshape(lhs, {rows, lhs.dims().back()});
      dy = b.reshape(dy, {rows, dims.back()});
    }
    giveAs(1,
           transposeRhs ? b.matmul(dy, lhs, true, transposeLhs)
                        : b.matmul(lhs, dy, !transposeLhs, false),
           rhs, isColumn);
  }
  return mlir::success();
}

// y[i, j] = |l[i] - r[j]|^2, so that dl[i] = 2 sum over j of dy[i, j] (l[i] - r[j]).
mlir::LogicalResult SquaredDistanceOp::buildGradient(GradientBuilder& b) {
  const Term dy = b.gradient() * 2;
  const Term lhs = b.operand(0);
  const Term rhs = b.operand(1);
  if (b.wants(0)) {
    b.give(0, lhs * b.sum(dy, {1}) - b.matmul(dy, rhs, false, false));
  }
  if (b.wants(1)) {
    Term sums = b.reshape(b.sum(dy, {0}), {dy.dims()[1], 1});
    b.give(1, rhs * sums - b.matmul(dy, lhs, true, false));
  }
  return mlir::success();
}

}  // namespace graphrun::ir
