// Gradient rules of signals and pictures: linear maps, whose adjoints they are made of.
#include "ir/builders.h"
#include "ir/dims.h"
#include "ir/folding.h"
#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

/// Cuts `x` off at `size` along `axis`, or fills it with zeros.
Term resized(GradientBuilder& b, Term x, int64_t axis, int64_t size) {
  llvm::SmallVector<int64_t> none(x.rank(), 0);
  llvm::SmallVector<int64_t> behind(none);
  behind[axis] = size - x.dims()[axis];
  return b.pad(x, none, behind);
}

Term transform(GradientBuilder& b, Term x, int64_t axis, bool inverse, bool onesided = false) {
  return b.emit(
      "gr.dft", {x},
      {b.integer("axis", axis), b.boolean("inverse", inverse), b.boolean("onesided", onesided)});
}

}  // namespace

// The adjoint of the transform F of n values is n times its inverse, and the other way round.
mlir::LogicalResult DftOp::buildGradient(GradientBuilder& b) {
  const auto axis = static_cast<int64_t>(getAxis());
  const llvm::SmallVector<int64_t> dims(b.operand(0).dims());
  const int64_t parts = static_cast<int64_t>(dims.size()) - 1;
  Term dy = b.gradient();
  Term dx;
  if (getInverse() && getOnesided()) {
    // Each value but the first, and the last of an even length, stands for itself and its
    // conjugate; the imaginary parts of those two are not read.
    int64_t length = dy.dims()[axis];
    llvm::SmallVector<int64_t> weights;
    for (int64_t k = 0; k <= length / 2; ++k) {
      bool isAlone = k == 0 || 2 * k == length;
      weights.append({isAlone ? 1 : 2, isAlone ? 0 : 2});
    }
    llvm::SmallVector<int64_t> weightDims(dims.size(), 1);
    weightDims[axis] = length / 2 + 1;
    weightDims[parts] = 2;
    Term factors = b.castTo(b.ints(weights, weightDims), dy.element());
    dx = transform(b, dy, axis, /*inverse=*/false, /*onesided=*/true) * factors /
         static_cast<double>(length);
  } else {
    int64_t length = getLength() > 0 ? getLength() : dims[axis];
    dy = resized(b, dy, axis, length);  // one side of a spectrum: the other has no gradient
    auto count = static_cast<double>(length);
    dx = transform(b, dy, axis, !getInverse());
    dx = getInverse() ? dx / count : dx * count;
  }
  dx = resized(b, dx, axis, dims[axis]);
  b.give(0, b.slice(dx, parts, 0, dims[parts]));
  return mlir::success();
}

// Each element of a column is added to one pixel of the picture: its gradient is the pixel's.
mlir::LogicalResult Col2ImOp::buildGradient(GradientBuilder& b) {
  std::optional<llvm::SmallVector<int64_t>> block = constantInts(getBlock());
  if (!block) {
    return b.refuse(0, "its block is not a constant");
  }
  const size_t rank = block->size();
  llvm::SmallVector<int64_t> before = {0, 0};
  llvm::SmallVector<int64_t> behind = {0, 0};
  before.append(getPads().begin(), getPads().begin() + rank);
  behind.append(getPads().begin() + rank, getPads().end());
  Term picture = b.pad(b.gradient(), before, behind);
  // Offsets in the padded picture: of a block's elements from its first, and of all blocks.
  llvm::SmallVector<int64_t> elements = {0};
  llvm::SmallVector<int64_t> columns = {0};
  for (size_t i = 0; i < rank; ++i) {
    int64_t side = picture.dims()[2 + i];
    int64_t count = (side - ((*block)[i] - 1) * getDilations()[i] - 1) / getStrides()[i] + 1;
    auto extend = [&](llvm::SmallVector<int64_t>& offsets, int64_t size, int64_t step) {
      llvm::SmallVector<int64_t> longer;
      for (int64_t offset : offsets) {
        for (int64_t k = 0; k < size; ++k) {
          longer.push_back(offset * side + k * step);
        }
      }
      offsets = longer;
    };
    extend(elements, (*block)[i], getDilations()[i]);
    extend(columns, count, getStrides()[i]);
  }
  llvm::SmallVector<int64_t> offsets;
  for (int64_t element : elements) {
    for (int64_t column : columns) {
      offsets.push_back(element + column);
    }
  }
  Term flat = b.reshape(
      picture, {picture.dims()[0], picture.dims()[1], countOf(picture.dims().drop_front(2))});
  Term picked = b.emit("gr.gather", {flat, b.ints(offsets)}, {b.integer("axis", 2)});
  b.give(0, b.reshape(picked, b.operand(0).dims()));
  return mlir::success();
}

namespace {

/// Has what gr.resize does along one axis, as a matrix (result x input): the unit matrix resized.
class AxisMatrix {
 public:
  AxisMatrix(GradientBuilder& b, ResizeOp op) : b_(b), op_(op) {
    if (mlir::ElementsAttr scales = op.getScales() ? knownElements(op.getScales()) : nullptr) {
      scales_ = numbersOf(denseOf(scales));
    }
  }

  bool isKnown() { return !op_.getScales() || !scales_.empty(); }

  Term of(int64_t axis, int64_t in, int64_t out, mlir::Type element) {
    llvm::SmallVector<int64_t> square = {in, in};
    Term unit = b_.castTo(equal(b_.positions(0, square), b_.positions(1, square)), element);
    const bool isScaled = !scales_.empty();
    Term target = isScaled
                      ? b_.floats({scales_[axis], 1}, op_.getScales().getType().getElementType())
                      : b_.ints({out, in});
    llvm::SmallVector<mlir::NamedAttribute> attributes;
    for (mlir::NamedAttribute attribute : op_->getAttrs()) {
      if (attribute.getName() != "operandSegmentSizes" && attribute.getName() != "axes") {
        attributes.push_back(attribute);
      }
    }
    attributes.push_back(b_.segments({1, isScaled ? 1 : 0, isScaled ? 0 : 1, 0}));
    return b_.emit("gr.resize", {unit, target}, attributes);
  }

 private:
  GradientBuilder& b_;
  ResizeOp op_;
  llvm::SmallVector<double> scales_;
};

}  // namespace

mlir::LogicalResult ResizeOp::buildGradient(GradientBuilder& b) {
  if (getCoordinates() == ResizeCoordinates::kTfCropAndResize ||
      getPolicy() != ResizePolicy::kStretch) {
    return b.refuse(0, "has no rule yet for regions, and for sizes that keep the aspect ratio");
  }
  if (getScales() && b.wants(1)) {
    return b.refuse(1, "the size of a tensor has no gradient");
  }
  AxisMatrix matrix(b, *this);
  if (!matrix.isKnown()) {
    return b.refuse(0, "its scales are known only when it runs");
  }
  const llvm::ArrayRef<int64_t> dims = b.operand(0).dims();
  Term dx = b.gradient();
  for (int64_t axis = 0; axis < dx.rank(); ++axis) {
    if (dx.dims()[axis] == dims[axis]) {
      continue;
    }
    llvm::SmallVector<int64_t> order = axesFrom(0, dx.rank());
    std::swap(order[axis], order.back());
    Term lines = b.transpose(dx, order);
    Term map = matrix.of(axis, dims[axis], dx.dims()[axis], dx.element());
    dx = b.transpose(b.matmul(lines, map, false, false), order);
  }
  b.give(0, dx);
  return mlir::success();
}

mlir::LogicalResult GridSampleOp::buildGradient(GradientBuilder& b) {
  llvm::SmallVector<mlir::NamedAttribute> attributes(getOperation()->getAttrs());
  llvm::erase_if(attributes,
                 [](auto attribute) { return attribute.getName().strref().starts_with("gr."); });
  llvm::SmallVector<Term> gradients = b.emitMany(
      "gr.grid_sample_backward", {b.operand(0), b.operand(1), b.gradient()}, attributes, 2);
  for (unsigned i : {0U, 1U}) {
    if (b.wants(i)) {
      b.give(i, gradients[i]);
    }
  }
  return mlir::success();
}

}  // namespace graphrun::ir
