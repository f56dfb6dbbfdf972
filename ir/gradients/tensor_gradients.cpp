// Gradient rules of data movement: each moves the gradient back.
#include "ir/dims.h"
#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

/// Views: the same elements in another shape.
mlir::LogicalResult reshapeBack(GradientBuilder& b) {
  b.give(0, b.reshape(b.gradient(), b.operand(0).dims()));
  return mlir::success();
}

/// The elements of a constant operand; refuses where it is none.
std::optional<llvm::SmallVector<int64_t>> known(GradientBuilder& b, mlir::Value value,
                                                llvm::StringRef what) {
  std::optional<llvm::SmallVector<int64_t>> elements = constantInts(value);
  if (!elements) {
    static_cast<void>(b.refuse(0, "its " + what + " are known only when it runs"));
  }
  return elements;
}

/// Puts `step` - 1 zeros behind each slice along `axis`.
Term dilated(GradientBuilder& b, Term x, int64_t axis, int64_t step) {
  if (step == 1) {
    return x;
  }
  llvm::SmallVector<int64_t> dims(x.dims());
  llvm::SmallVector<int64_t> spaced(dims);
  spaced.insert(spaced.begin() + axis + 1, 1);
  llvm::SmallVector<int64_t> none(spaced.size(), 0);
  llvm::SmallVector<int64_t> behind(none);
  behind[axis + 1] = step - 1;
  dims[axis] *= step;
  return b.reshape(b.pad(b.reshape(x, spaced), none, behind), dims);
}

}  // namespace

mlir::LogicalResult ReshapeOp::buildGradient(GradientBuilder& b) { return reshapeBack(b); }
mlir::LogicalResult SqueezeOp::buildGradient(GradientBuilder& b) { return reshapeBack(b); }
mlir::LogicalResult UnsqueezeOp::buildGradient(GradientBuilder& b) { return reshapeBack(b); }
mlir::LogicalResult WatchOp::buildGradient(GradientBuilder& b) { return reshapeBack(b); }

mlir::LogicalResult TransposeOp::buildGradient(GradientBuilder& b) {
  llvm::SmallVector<int64_t> back(getPermutation().size());
  for (auto [i, axis] : llvm::enumerate(getPermutation())) {
    back[axis] = static_cast<int64_t>(i);
  }
  b.give(0, b.transpose(b.gradient(), back));
  return mlir::success();
}

mlir::LogicalResult ConcatOp::buildGradient(GradientBuilder& b) {
  int64_t begin = 0;
  for (unsigned i = 0; i < getInputs().size(); ++i) {
    int64_t end = begin + b.operand(i).dims()[getAxis()];
    if (b.wants(i)) {
      b.give(i, b.slice(b.gradient(), getAxis(), begin, end));
    }
    begin = end;
  }
  return mlir::success();
}

mlir::LogicalResult SplitOp::buildGradient(GradientBuilder& b) {
  llvm::SmallVector<Term> parts;
  for (unsigned i = 0; i < getOutputs().size(); ++i) {
    Term part = b.gradient(i);
    parts.push_back(part.isZero() ? b.full(b.result(i), 0) : part);
  }
  b.give(0, b.emit("gr.concat", parts, {b.integer("axis", getAxis())}));
  return mlir::success();
}

mlir::LogicalResult SliceOp::buildGradient(GradientBuilder& b) {
  auto starts = known(b, getStarts(), "starts");
  auto axes = known(b, getAxes(), "axes");
  auto steps = known(b, getSteps(), "steps");
  if (!starts || !axes || !steps) {
    return mlir::failure();
  }
  Term dx = b.gradient();
  const llvm::SmallVector<int64_t> dims(b.operand(0).dims());
  llvm::SmallVector<int64_t> before(dims.size(), 0);
  llvm::SmallVector<int64_t> behind(dims.size(), 0);
  for (auto [start, given, step] : llvm::zip(*starts, *axes, *steps)) {
    auto rank = static_cast<int64_t>(dims.size());
    int64_t axis = given < 0 ? given + rank : given;
    int64_t dim = dims[axis];
    int64_t count = dx.dims()[axis];
    int64_t first = start < 0 ? start + dim : start;
    first = std::clamp<int64_t>(first, 0, step > 0 ? dim : std::max<int64_t>(dim - 1, 0));
    if (step < 0) {
      dx = b.reverse(dx, axis);
      first += (std::max<int64_t>(count, 1) - 1) * step;
    }
    int64_t width = count * std::abs(step);
    dx = dilated(b, dx, axis, std::abs(step));
    before[axis] = first;
    behind[axis] = dim - first - width;  // below 0 where the last step leads out
  }
  b.give(0, b.pad(dx, before, behind));
  return mlir::success();
}

namespace {

/// Places in a dim of `size` of the elements that a padded dim has; modes but `constant`.
llvm::SmallVector<int64_t> paddedPlaces(int64_t size, int64_t before, int64_t behind,
                                        PadMode mode) {
  llvm::SmallVector<int64_t> places;
  for (int64_t at = -before; at < size + behind; ++at) {
    int64_t place = at;
    if (mode == PadMode::kEdge) {
      place = std::clamp<int64_t>(at, 0, size - 1);
    } else if (mode == PadMode::kWrap) {
      place = (at % size + size) % size;
    } else if (size == 1) {
      place = 0;
    } else {  // reflect: there and back, without the ends
      int64_t period = 2 * (size - 1);
      place = (at % period + period) % period;
      place = std::min(place, period - place);
    }
    places.push_back(place);
  }
  return places;
}

}  // namespace

mlir::LogicalResult PadOp::buildGradient(GradientBuilder& b) {
  auto pads = known(b, getPads(), "pads");
  if (!pads) {
    return mlir::failure();
  }
  const llvm::SmallVector<int64_t> dims(b.operand(0).dims());
  auto rank = static_cast<int64_t>(dims.size());
  if (getMode() != PadMode::kConstant) {
    Term dx = b.gradient();
    for (int64_t axis = 0; axis < rank; ++axis) {
      if ((*pads)[axis] != 0 || (*pads)[rank + axis] != 0) {
        Term places =
            b.ints(paddedPlaces(dims[axis], (*pads)[axis], (*pads)[rank + axis], getMode()));
        dx = b.addSlices(dx, axis, places, dims[axis]);
      }
    }
    b.give(0, dx);
    return mlir::success();
  }
  llvm::SmallVector<int64_t> before, behind;
  for (int64_t axis = 0; axis < rank; ++axis) {
    before.push_back(-(*pads)[axis]);
    behind.push_back(-(*pads)[rank + axis]);
  }
  Term dx = b.pad(b.gradient(), before, behind);
  b.give(0, dx);
  if (b.wants(2)) {
    Term all = b.sum(b.gradient(), axesFrom(0, rank));
    b.give(2, b.reshape(all - b.sum(dx, axesFrom(0, rank)), b.operand(2).dims()));
  }
  return mlir::success();
}

mlir::LogicalResult ExpandOp::buildGradient(GradientBuilder& b) {
  b.give(0, b.gradient());
  return mlir::success();
}

mlir::LogicalResult TileOp::buildGradient(GradientBuilder& b) {
  const Term dy = b.gradient();
  llvm::SmallVector<int64_t> dims, copies;
  for (auto [axis, dim] : llvm::enumerate(b.operand(0).dims())) {
    copies.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(dim == 0 ? 1 : dy.dims()[axis] / dim);
    dims.push_back(dim);
  }
  b.give(0, b.reshape(b.sum(b.reshape(dy, dims), copies), b.operand(0).dims()));
  return mlir::success();
}

mlir::LogicalResult GatherOp::buildGradient(GradientBuilder& b) {
  const Term dy = b.gradient();
  const llvm::ArrayRef<int64_t> dims = b.operand(0).dims();
  // The dims of the indices become one.
  const llvm::ArrayRef<int64_t> picks = b.operand(1).dims();
  llvm::SmallVector<int64_t> flat(dims);
  flat[getAxis()] = countOf(picks);
  b.give(0, b.addSlices(b.reshape(dy, flat), getAxis(), b.operand(1), dims[getAxis()]));
  return mlir::success();
}

}  // namespace graphrun::ir
