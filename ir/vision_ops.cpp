// Types and costs of the vision family.
#include "ir/infer.h"
#include "llvm/Support/MathExtras.h"

namespace graphrun::ir {
namespace {

/// Fails unless dim `dim` of `value`, where known, is `expected`.
mlir::LogicalResult requireDim(mlir::Operation* op, mlir::Value value, llvm::StringRef what,
                               size_t dim, const Dim& expected) {
  std::optional<Dims> dims = dimsOf(value);
  if (!dims || !provablyDifferent((*dims)[dim], expected)) {
    return mlir::success();
  }
  return op->emitOpError() << "dim " << dim << " of " << what << " is " << toString({(*dims)[dim]})
                           << ", expected " << toString({expected});
}

/// The result of pooling regions of `input` to height x width.
template <typename Op>
mlir::LogicalResult inferRegions(Op op, int64_t columns, Types& types) {
  if (mlir::failed(requireFloat(op, op.getInput(), "input")) ||
      mlir::failed(requireSameElement(op, op.getInput(), op.getRois())) ||
      mlir::failed(requireRank(op, op.getInput(), "input", 4)) ||
      mlir::failed(requireRank(op, op.getRois(), "rois", 2)) ||
      mlir::failed(requireDim(op, op.getRois(), "rois", 1, Dim(columns)))) {
    return mlir::failure();
  }
  if (op.getHeight() < 1 || op.getWidth() < 1) {
    return op.emitOpError() << "makes regions of " << op.getHeight() << "x" << op.getWidth()
                            << ", expected at least 1x1";
  }
  std::optional<Dims> in = dimsOf(op.getInput());
  std::optional<Dims> regions = dimsOf(op.getRois());
  Dims dims = {regions ? (*regions)[0] : Dim(), in ? (*in)[1] : Dim(), Dim(op.getHeight()),
               Dim(op.getWidth())};
  return push(types, dims, elementOf(op.getInput()));
}

/// Fails unless the grid points into the input.
template <typename Op>
mlir::LogicalResult checkGrid(Op op) {
  if (mlir::failed(requireFloat(op, op.getGrid(), "grid"))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(op.getInput());
  if (!in || !dimsOf(op.getGrid())) {
    return mlir::success();
  }
  if (in->size() < 3) {
    return op.emitOpError() << "input is of rank " << in->size()
                            << ", expected N x C x spatial dims";
  }
  if (mlir::failed(requireRank(op, op.getGrid(), "grid", in->size()))) {
    return mlir::failure();
  }
  Dim rank(static_cast<int64_t>(in->size()) - 2);
  return mlir::failure(mlir::failed(requireDim(op, op.getGrid(), "grid", 0, (*in)[0])) ||
                       mlir::failed(requireDim(op, op.getGrid(), "grid", in->size() - 1, rank)));
}

/// The dims of the samples, where those of input and grid are known.
template <typename Op>
std::optional<Dims> sampledDims(Op op) {
  std::optional<Dims> in = dimsOf(op.getInput());
  std::optional<Dims> grid = dimsOf(op.getGrid());
  if (!in || !grid) {
    return std::nullopt;
  }
  Dims dims = {(*in)[0], (*in)[1]};
  dims.append(grid->begin() + 1, grid->end() - 1);
  return dims;
}

int64_t flopsOfSample(Interpolation mode) {
  return mode == Interpolation::kNearest ? 4 : mode == Interpolation::kLinear ? 12 : 50;
}

}  // namespace

mlir::LogicalResult GridSampleOp::inferTypes(Types& types) {
  if (mlir::failed(requireComputed(*this, getInput(), "input")) || mlir::failed(checkGrid(*this))) {
    return mlir::failure();
  }
  return push(types, sampledDims(*this), elementOf(getInput()));
}
OpCost GridSampleOp::cost() { return elementwiseCost(*this, flopsOfSample(getMode())); }

mlir::LogicalResult GridSampleBackwardOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getInput(), "input")) ||
      mlir::failed(requireSameElement(*this, getInput(), getGradient())) ||
      mlir::failed(checkGrid(*this))) {
    return mlir::failure();
  }
  std::optional<Dims> sampled = sampledDims(*this);
  std::optional<Dims> gradient = dimsOf(getGradient());
  if (sampled && gradient) {
    if (mlir::failed(requireRank(*this, getGradient(), "gradient", sampled->size()))) {
      return mlir::failure();
    }
    for (size_t i = 0; i < sampled->size(); ++i) {
      if (mlir::failed(requireDim(*this, getGradient(), "gradient", i, (*sampled)[i]))) {
        return mlir::failure();
      }
    }
  }
  types.push_back(getInput().getType());
  types.push_back(getGrid().getType());
  return mlir::success();
}
OpCost GridSampleBackwardOp::cost() { return elementwiseCost(*this, 3 * flopsOfSample(getMode())); }

mlir::LogicalResult RoiAlignOp::inferTypes(Types& types) {
  if (mlir::failed(requireIntVector(*this, getBatch(), "batch")) ||
      mlir::failed(inferRegions(*this, 4, types))) {
    return mlir::failure();
  }
  std::optional<Dims> batch = dimsOf(getBatch());
  return batch ? requireDim(*this, getRois(), "rois", 0, (*batch)[0]) : mlir::success();
}
OpCost RoiAlignOp::cost() {
  int64_t side = std::max<int64_t>(getSampling(), 2);
  return elementwiseCost(*this, 8 * side * side);
}

mlir::LogicalResult RoiMaxPoolOp::inferTypes(Types& types) { return inferRegions(*this, 5, types); }
OpCost RoiMaxPoolOp::cost() { return elementwiseCost(*this, 4); }

mlir::LogicalResult Col2ImOp::inferTypes(Types& types) {
  if (mlir::failed(requireComputed(*this, getInput(), "input")) ||
      mlir::failed(requireIntVector(*this, getImage(), "image")) ||
      mlir::failed(requireIntVector(*this, getBlock(), "block")) ||
      mlir::failed(requireRank(*this, getInput(), "input", 3))) {
    return mlir::failure();
  }
  size_t rank = getStrides().size();
  Dim length(static_cast<int64_t>(rank));
  if (getDilations().size() != rank || getPads().size() != 2 * rank) {
    return emitOpError() << "has " << rank << " strides, " << getDilations().size()
                         << " dilations and " << getPads().size()
                         << " pads, expected one, one and two for each dim";
  }
  if (mlir::failed(requireDim(*this, getImage(), "image", 0, length)) ||
      mlir::failed(requireDim(*this, getBlock(), "block", 0, length))) {
    return mlir::failure();
  }
  for (int64_t value : llvm::concat<const int64_t>(getStrides(), getDilations())) {
    if (value < 1) {
      return emitOpError() << "strides and dilations must be at least 1, got " << value;
    }
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> image = elementsOf(getImage());
  for (const Dim& side : image.value_or(Dims())) {
    if (side.isStatic() && side.value() < 0) {
      return emitOpError() << "image has the negative element " << side.value();
    }
  }
  std::optional<llvm::SmallVector<int64_t>> block = constantInts(getBlock());
  int64_t elements = 1;
  for (int64_t side : block.value_or(llvm::SmallVector<int64_t>())) {
    if (side < 1 || llvm::MulOverflow(elements, side, elements)) {
      return emitOpError() << "block has the element " << side << ", expected a small positive one";
    }
  }
  if (in && (*in)[1].isStatic() && (*in)[1].value() % elements != 0) {
    return emitOpError() << "dim 1 of input is " << (*in)[1].value()
                         << ", expected a multiple of the block's " << elements << " elements";
  }
  Dims dims = {in ? (*in)[0] : Dim(), in && block ? (*in)[1].floorDiv(elements) : Dim()};
  dims.append(image.value_or(Dims(rank)));
  return push(types, dims, elementOf(getInput()));
}
OpCost Col2ImOp::cost() { return elementwiseCost(*this, 1); }

}  // namespace graphrun::ir
