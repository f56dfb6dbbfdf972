// Gradient rules of convolutions and pools. A transposed convolution is the exact adjoint of a
// convolution; filters and pools have backward operations of their own.
#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

using Ints = llvm::SmallVector<int64_t>;

/// A window that slides over spatial dims, its padding resolved; one entry a dim.
struct SlidingWindow {
  Ints kernel, strides, dilations;
  Ints in, out;  ///< what it slides over, and how often it is put down
  Ints before;   ///< padding that the first window begins with

  size_t rank() const { return kernel.size(); }
  /// How far the windows reach behind the input; below 0 where they end within it.
  int64_t behind(size_t i) const {
    return (out[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - before[i] - in[i];
  }
  Ints pads() const {
    Ints pads = before;
    for (size_t i = 0; i < rank(); ++i) {
      pads.push_back(std::max<int64_t>(behind(i), 0));
    }
    return pads;
  }
};

Ints spatialDims(llvm::ArrayRef<int64_t> dims) { return Ints(dims.drop_front(2)); }

int64_t firstPart(int64_t padding, bool upper) {
  padding = std::max<int64_t>(padding, 0);
  return upper ? padding / 2 : padding - padding / 2;
}

template <typename Op>
SlidingWindow unpaddedWindow(Op op, llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> in,
                             llvm::ArrayRef<int64_t> out) {
  SlidingWindow window{Ints(kernel),    Ints(op.getStrides()), Ints(op.getDilations()),
                       spatialDims(in), spatialDims(out),      {}};
  for (size_t i = 0; i < window.rank(); ++i) {
    window.before.push_back(op.getPads()[i]);
  }
  return window;
}

/// The window of a convolution or a pool.
template <typename Op>
SlidingWindow paddedWindow(Op op, llvm::ArrayRef<int64_t> kernel, Term x, Term y) {
  SlidingWindow window = unpaddedWindow(op, kernel, x.dims(), y.dims());
  for (size_t i = 0; op.getPadding() != WindowPadding::kExplicit && i < window.rank(); ++i) {
    window.before[i] = 0;
    window.before[i] = firstPart(window.behind(i), op.getPadding() == WindowPadding::kSameUpper);
  }
  return window;
}

/// The window of a transposed convolution, which slides over its result.
SlidingWindow transposedWindow(ConvTransposeOp op, Term x, Term filter, Term y) {
  SlidingWindow window = unpaddedWindow(op, spatialDims(filter.dims()), y.dims(), x.dims());
  bool isFree = !op.getOutputShape().empty() || op.getPadding() != WindowPadding::kExplicit;
  for (size_t i = 0; isFree && i < window.rank(); ++i) {
    window.before[i] = 0;
    int64_t padding = window.behind(i) + op.getOutputPadding()[i];
    window.before[i] = firstPart(padding, op.getPadding() == WindowPadding::kSameUpper);
  }
  return window;
}

/// The convolution of `x` by `filter` with this window.
Term convolve(GradientBuilder& b, Term x, Term filter, const SlidingWindow& window,
              int64_t groups) {
  Term y = b.emit("gr.conv", {x, filter},
                  {b.integers("strides", window.strides), b.integers("dilations", window.dilations),
                   b.integers("pads", window.pads()), b.integer("groups", groups)});
  for (size_t i = 0; i < window.rank(); ++i) {
    y = b.slice(y, static_cast<int64_t>(2 + i), 0, window.out[i]);
  }
  return y;
}

/// Its adjoint: adds `filter` times each element of `y` up where the window was.
Term spreadBack(GradientBuilder& b, Term y, Term filter, const SlidingWindow& window,
                int64_t groups) {
  Ints margin;
  for (size_t i = 0; i < window.rank(); ++i) {
    margin.push_back(std::max<int64_t>(-window.behind(i), 0));
  }
  return b.emit("gr.conv_transpose", {y, filter},
                {b.integers("strides", window.strides), b.integers("dilations", window.dilations),
                 b.integers("pads", window.pads()), b.integers("output_padding", margin),
                 b.integers("output_shape", {}), b.integer("groups", groups)});
}

/// The attributes that a backward operation has of `window`. `after` is the padding behind.
llvm::SmallVector<mlir::NamedAttribute> attributesOf(GradientBuilder& b,
                                                     const SlidingWindow& window,
                                                     llvm::ArrayRef<int64_t> after) {
  Ints pads = window.before;
  llvm::append_range(pads, after);
  return {b.integers("kernel", window.kernel), b.integers("strides", window.strides),
          b.integers("dilations", window.dilations), b.integers("pads", pads)};
}

/// The gradient of the filter (of `y`'s channels x those of `x` in a group) of a convolution of `x`
/// to `y`.
Term filterGradient(GradientBuilder& b, Term x, Term y, const SlidingWindow& window,
                    int64_t groups) {
  Ints after;
  for (size_t i = 0; i < window.rank(); ++i) {
    after.push_back(window.behind(i));
  }
  llvm::SmallVector<mlir::NamedAttribute> attributes = attributesOf(b, window, after);
  attributes.push_back(b.integer("groups", groups));
  return b.emit("gr.conv_backward_filter", {x, y}, attributes);
}

/// The padding behind the input of a pool: what its means may count, whatever the windows reach.
template <typename Op>
Ints paddingAfter(Op op, const SlidingWindow& window) {
  Ints after;
  for (size_t i = 0; i < window.rank(); ++i) {
    after.push_back(op.getPadding() == WindowPadding::kExplicit
                        ? op.getPads()[window.rank() + i]
                        : std::max<int64_t>(window.behind(i), 0));
  }
  return after;
}

/// Sums over all dims but the channels'.
Term biasGradient(GradientBuilder& b, Term dy) {
  Ints axes = axesFrom(1, dy.rank());
  axes.front() = 0;
  return b.reshape(b.sum(dy, axes), {dy.dims()[1]});
}

/// A filter that adds up each window of each channel.
Term windowSums(GradientBuilder& b, Term x, llvm::ArrayRef<int64_t> kernel) {
  Ints dims = {x.dims()[1], 1};
  llvm::append_range(dims, kernel);
  return b.full(mlir::RankedTensorType::get(dims, x.element()), 1);
}

}  // namespace

mlir::LogicalResult ConvOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const Term filter = b.operand(1);
  const Term dy = b.gradient();
  SlidingWindow window = paddedWindow(*this, spatialDims(filter.dims()), x, dy);
  if (b.wants(0)) {
    b.give(0, spreadBack(b, dy, filter, window, getGroups()));
  }
  if (b.wants(1)) {
    b.give(1, filterGradient(b, x, dy, window, getGroups()));
  }
  if (getBias() && b.wants(2)) {
    b.give(2, biasGradient(b, dy));
  }
  return mlir::success();
}

mlir::LogicalResult ConvTransposeOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const Term filter = b.operand(1);
  const Term dy = b.gradient();
  SlidingWindow window = transposedWindow(*this, x, filter, dy);
  if (b.wants(0)) {
    b.give(0, convolve(b, dy, filter, window, getGroups()));
  }
  if (b.wants(1)) {
    b.give(1, filterGradient(b, dy, x, window, getGroups()));
  }
  if (getBias() && b.wants(2)) {
    b.give(2, biasGradient(b, dy));
  }
  return mlir::success();
}

namespace {

/// Adds the gradients of the elements at `places` up: their places in all of the input, row-major,
/// or with the spatial dims in reverse order.
Term addAtPlaces(GradientBuilder& b, Term dy, Term places, llvm::ArrayRef<int64_t> dims,
                 bool isColumnMajor) {
  Ints sorted(dims);
  Ints back = axesFrom(0, static_cast<int64_t>(dims.size()));
  if (isColumnMajor) {
    std::reverse(sorted.begin() + 2, sorted.end());
    std::reverse(back.begin() + 2, back.end());
  }
  Ints flat = {countOf(dy.dims())};
  Term sums = b.addSlices(b.reshape(dy, flat), 0, b.reshape(places, flat), countOf(dims));
  return b.transpose(b.reshape(sums, sorted), back);
}

}  // namespace

mlir::LogicalResult MaxPoolOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const Term dy = b.gradient();
  SlidingWindow window = paddedWindow(*this, getKernel(), x, dy);
  b.give(0, b.emit("gr.max_pool_backward", {x, dy},
                   attributesOf(b, window, paddingAfter(*this, window))));
  return mlir::success();
}

mlir::LogicalResult MaxPoolWithIndicesOp::buildGradient(GradientBuilder& b) {
  b.give(0, addAtPlaces(b, b.gradient(), b.result(1), b.operand(0).dims(), getColumnMajor()));
  return mlir::success();
}

mlir::LogicalResult AvgPoolOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const Term dy = b.gradient();
  SlidingWindow window = paddedWindow(*this, getKernel(), x, dy);
  llvm::SmallVector<mlir::NamedAttribute> attributes =
      attributesOf(b, window, paddingAfter(*this, window));
  attributes.push_back(b.integers("dims", window.in));
  attributes.push_back(b.boolean("count_include_pad", getCountIncludePad()));
  b.give(0, b.emit("gr.avg_pool_backward", {dy}, attributes));
  return mlir::success();
}

// y = (sum of |x|^p)^(1/p), so that dy/dx = sign(x) |x|^(p-1) y^(1-p); 0 where y is.
mlir::LogicalResult LpPoolOp::buildGradient(GradientBuilder& b) {
  const Term x = b.operand(0);
  const Term y = b.result();
  const double p = getP().convertToDouble();
  SlidingWindow window = paddedWindow(*this, getKernel(), x, y);
  Term dy = select(equal(y, 0), Term(), b.gradient() * apply("gr.pow", y, 1 - p));
  Term sums = spreadBack(b, dy, windowSums(b, x, getKernel()), window, x.dims()[1]);
  b.give(0, sign(x) * apply("gr.pow", abs(x), p - 1) * sums);
  return mlir::success();
}

}  // namespace graphrun::ir
