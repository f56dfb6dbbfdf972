// Type and cost of gr.resize.
#include <cmath>

#include "ir/infer.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::ir {
namespace {

/// Makes `size`, rounded down, the size of `dim`; fails where no int64 holds it.
mlir::LogicalResult resizeTo(ResizeOp op, double size, Dim& dim) {
  if (!(size < 0x1p63)) {
    return op.emitOpError() << "makes a dim of size " << size << ", expected less than 2^63";
  }
  dim = Dim(static_cast<int64_t>(std::floor(size)));
  return mlir::success();
}

/// Makes `dim` what the scale makes of `from`. A scale is of type f32, and so is the product: other
/// readers of the same file compute it so.
mlir::LogicalResult resizeBy(ResizeOp op, const Dim& from, double scale, Dim& dim) {
  if (from.isStatic()) {
    return resizeTo(op, static_cast<float>(from.value()) * static_cast<float>(scale), dim);
  }
  const bool whole = scale == std::floor(scale) && scale >= 1 && scale < 0x1p63;
  dim = whole ? from * Dim(static_cast<int64_t>(scale)) : Dim();
  return mlir::success();
}

/// Fails unless `value`, where known, is a vector of `count` elements.
mlir::LogicalResult requireLength(mlir::Operation* op, mlir::Value value, llvm::StringRef what,
                                  size_t count) {
  std::optional<Dims> dims = dimsOf(value);
  if (!dims ||
      (dims->size() == 1 && !provablyDifferent((*dims)[0], Dim(static_cast<int64_t>(count))))) {
    return mlir::success();
  }
  if (dims->size() != 1) {
    return op->emitOpError() << what << " is of rank " << dims->size() << ", expected 1";
  }
  return op->emitOpError() << what << " has " << (*dims)[0].value() << " elements, expected "
                           << count;
}

/// One scale for all of the axes.
mlir::LogicalResult applyPolicy(ResizeOp op, const Dims& in, Dims& dims) {
  llvm::ArrayRef<int64_t> axes = op.getAxes();
  if (mlir::failed(requireAxes(op, axes, static_cast<int64_t>(in.size())))) {
    return mlir::failure();
  }
  bool smallest = op.getPolicy() == ResizePolicy::kNotLarger;
  double scale = smallest ? INFINITY : 0;
  for (int64_t axis : axes) {
    if (!in[axis].isStatic() || !dims[axis].isStatic()) {
      scale = NAN;
      break;
    }
    double mine = static_cast<double>(dims[axis].value()) / static_cast<double>(in[axis].value());
    scale = smallest ? std::min(scale, mine) : std::max(scale, mine);
  }
  for (int64_t axis : axes) {
    dims[axis] = Dim();
    if (std::isfinite(scale) &&
        mlir::failed(
            resizeTo(op, scale * static_cast<double>(in[axis].value()) + 0.5, dims[axis]))) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

mlir::LogicalResult sizedDims(ResizeOp op, const Dims& in, Dims& dims) {
  std::optional<Dims> sizes = elementsOf(op.getSizes());
  if (mlir::failed(requireLength(op, op.getSizes(), "sizes", in.size()))) {
    return mlir::failure();
  }
  for (const Dim& dim : sizes.value_or(Dims())) {
    if (dim.isStatic() && dim.value() < 0) {
      return op.emitOpError() << "sizes has the negative element " << dim.value();
    }
  }
  dims = sizes.value_or(dims);
  return op.getPolicy() == ResizePolicy::kStretch ? mlir::success() : applyPolicy(op, in, dims);
}

mlir::LogicalResult scaledDims(ResizeOp op, const Dims& in, Dims& dims) {
  mlir::DenseFPElementsAttr scales;
  if (mlir::failed(requireLength(op, op.getScales(), "scales", in.size()))) {
    return mlir::failure();
  }
  if (!mlir::matchPattern(op.getScales(), mlir::m_Constant(&scales))) {
    return mlir::success();
  }
  for (auto [dim, from, value] : llvm::zip(dims, in, scales.getValues<llvm::APFloat>())) {
    const double factor = value.convertToDouble();
    if (!(factor > 0)) {
      return op.emitOpError() << "scales has the element " << factor << ", expected one above 0";
    }
    if (mlir::failed(resizeBy(op, from, factor, dim))) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

}  // namespace

mlir::LogicalResult ResizeOp::verify() {
  if (static_cast<bool>(getScales()) == static_cast<bool>(getSizes())) {
    return emitOpError() << "needs exactly one of scales and sizes";
  }
  constexpr ResizeCoordinates kCrop = ResizeCoordinates::kTfCropAndResize;
  if (static_cast<bool>(getRoi()) != (getCoordinates() == kCrop)) {
    return emitOpError() << "has coordinates \"" << stringifyResizeCoordinates(getCoordinates())
                         << "\" and " << (getRoi() ? "a" : "no") << " roi; "
                         << stringifyResizeCoordinates(kCrop) << " alone takes one";
  }
  if (getPolicy() != ResizePolicy::kStretch && getScales()) {
    return emitOpError() << "has policy \"" << stringifyResizePolicy(getPolicy())
                         << "\" and scales, expected sizes";
  }
  if (getAntialias() && getMode() == Interpolation::kNearest) {
    return emitOpError() << "antialias is set for mode \"nearest\", expected linear or cubic";
  }
  return mlir::success();
}

mlir::LogicalResult ResizeOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  if (!in) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  if (getRoi() && mlir::failed(requireLength(*this, getRoi(), "roi", 2 * in->size()))) {
    return mlir::failure();
  }
  Dims dims(in->size());
  mlir::LogicalResult known = mlir::success();
  if (getSizes()) {
    known = sizedDims(*this, *in, dims);
  } else if (getScales()) {
    known = scaledDims(*this, *in, dims);
  }
  return mlir::failed(known) ? mlir::failure() : push(types, dims, elementOf(getInput()));
}

OpCost ResizeOp::cost() {
  return elementwiseCost(*this, getMode() == Interpolation::kNearest  ? 1
                                : getMode() == Interpolation::kLinear ? 8
                                                                      : 40);
}

}  // namespace graphrun::ir
