// Gradient rules of operations that read and write by indices: what one reads the other writes.
#include <numeric>

#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

/// IndexedElements are those that indices name in a tensor: one for each index along `axis`, or,
/// without one, those of index vectors.
class IndexedElements {
 public:
  IndexedElements(GradientBuilder& b, Term indices, std::optional<int64_t> axis)
      : b_(b), indices_(indices), axis_(axis) {}

  Term read(Term data) const {
    return axis_ ? b_.emit("gr.gather_elements", {data, indices_}, {b_.integer("axis", *axis_)})
                 : b_.emit("gr.gather_nd", {data, indices_});
  }
  /// `data` with the updates; `reduction` says how they join what is there.
  Term write(Term data, Term updates, ScatterReduction reduction) const {
    mlir::NamedAttribute how = b_.text("reduction", stringifyScatterReduction(reduction));
    return axis_ ? b_.emit("gr.scatter_elements", {data, indices_, updates},
                           {b_.integer("axis", *axis_), how})
                 : b_.emit("gr.scatter_nd", {data, indices_, updates}, {how});
  }

 private:
  GradientBuilder& b_;
  Term indices_;
  std::optional<int64_t> axis_;
};

/// The last one of updates that meet stays: the only one with a gradient.
void giveOfReplacing(GradientBuilder& b, const IndexedElements& elements) {
  const Term dy = b.gradient();
  const Term updates = b.operand(2);
  if (b.wants(0)) {
    b.give(0, elements.write(dy, b.full(updates, 0), ScatterReduction::kNone));
  }
  if (b.wants(2)) {
    llvm::SmallVector<int64_t> numbers(countOf(updates.dims()));
    std::iota(numbers.begin(), numbers.end(), 0);
    Term mine = b.ints(numbers, updates.dims());
    auto type = mlir::RankedTensorType::get(dy.dims(), mine.element());
    Term last = elements.write(b.full(type, -1), mine, ScatterReduction::kNone);
    b.give(2, select(equal(elements.read(last), mine), elements.read(dy), Term()));
  }
}

/// A factor has the product of the others as its gradient, which is 0 where one of them is.
void giveOfProducts(GradientBuilder& b, const IndexedElements& elements) {
  const Term dy = b.gradient();
  const Term x = b.operand(0);
  const Term updates = b.operand(2);
  Term isZero = equal(updates, 0);
  Term factors = select(isZero, 1, updates);
  Term product = elements.write(b.full(x, 1), factors, ScatterReduction::kMul);
  Term zero = b.castTo(isZero, x.element());
  Term zeros = elements.write(b.full(x, 0), zero, ScatterReduction::kAdd);
  b.give(0, select(less(0, zeros), Term(), dy * product));
  if (b.wants(2)) {
    Term others = elements.read(dy * x * product) / factors;
    b.give(2, select(less(0, elements.read(zeros) - zero), Term(), others));
  }
}

/// The least or largest has the gradient; equal ones share it.
void giveOfExtremes(GradientBuilder& b, const IndexedElements& elements) {
  const Term x = b.operand(0);
  const Term updates = b.operand(2);
  Term stays = b.castTo(equal(x, b.result()), x.element());
  Term wins = b.castTo(equal(updates, elements.read(b.result())), x.element());
  Term share = b.gradient() / elements.write(stays, wins, ScatterReduction::kAdd);
  b.give(0, stays * share);
  if (b.wants(2)) {
    b.give(2, wins * elements.read(share));
  }
}

mlir::LogicalResult giveOfScatter(GradientBuilder& b, const IndexedElements& elements,
                                  ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::kNone:
      giveOfReplacing(b, elements);
      break;
    case ScatterReduction::kAdd:
      b.give(0, b.gradient());
      if (b.wants(2)) {
        b.give(2, elements.read(b.gradient()));
      }
      break;
    case ScatterReduction::kMul:
      giveOfProducts(b, elements);
      break;
    case ScatterReduction::kMin:
    case ScatterReduction::kMax:
      giveOfExtremes(b, elements);
      break;
  }
  return mlir::success();
}

/// Index vectors that name the batch, too: for gr.scatter_nd, which knows no batches.
Term withBatch(GradientBuilder& b, Term indices, int64_t batchDims) {
  if (batchDims == 0) {
    return indices;
  }
  llvm::SmallVector<int64_t> one(indices.dims());
  one.back() = 1;
  llvm::SmallVector<Term> parts;
  for (int64_t axis = 0; axis < batchDims; ++axis) {
    parts.push_back(b.expand(b.positions(axis, one), one));
  }
  parts.push_back(b.castTo(indices, parts.front().element()));
  return b.emit("gr.concat", parts, {b.integer("axis", indices.rank() - 1)});
}

}  // namespace

mlir::LogicalResult GatherElementsOp::buildGradient(GradientBuilder& b) {
  IndexedElements elements(b, b.operand(1), getAxis());
  b.give(0, elements.write(b.full(b.operand(0), 0), b.gradient(), ScatterReduction::kAdd));
  return mlir::success();
}

mlir::LogicalResult GatherNdOp::buildGradient(GradientBuilder& b) {
  IndexedElements elements(b, withBatch(b, b.operand(1), getBatchDims()), std::nullopt);
  b.give(0, elements.write(b.full(b.operand(0), 0), b.gradient(), ScatterReduction::kAdd));
  return mlir::success();
}

mlir::LogicalResult ScatterElementsOp::buildGradient(GradientBuilder& b) {
  return giveOfScatter(b, IndexedElements(b, b.operand(1), getAxis()), getReduction());
}

mlir::LogicalResult ScatterNdOp::buildGradient(GradientBuilder& b) {
  return giveOfScatter(b, IndexedElements(b, b.operand(1), std::nullopt), getReduction());
}

mlir::LogicalResult TopKOp::buildGradient(GradientBuilder& b) {
  IndexedElements elements(b, b.result(1), getAxis());
  b.give(0, elements.write(b.full(b.operand(0), 0), b.gradient(), ScatterReduction::kAdd));
  return mlir::success();
}

}  // namespace graphrun::ir
