#include "devices/codegen/index_maps.h"

#include "devices/codegen/scalar_emitter.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/weights.h"

namespace graphrun::devices::codegen {
namespace {

/// Index of an operand that broadcasts to the result whose index is `index`.
Index broadcastIndex(llvm::ArrayRef<mlir::AffineExpr> index, llvm::ArrayRef<int64_t> shape,
                     mlir::MLIRContext* context) {
  Index operand(index.take_back(shape.size()));
  for (auto [expr, dim] : llvm::zip(operand, shape)) {
    expr = dim == 1 ? mlir::getAffineConstantExpr(0, context) : expr;
  }
  return operand;
}

/// Index in `to` when it has the dims of `from` but for some of 1; nothing when it has others.
std::optional<Index> sameDimsIndex(llvm::ArrayRef<mlir::AffineExpr> index,
                                   llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                                   mlir::MLIRContext* context) {
  Index result(to.size(), mlir::getAffineConstantExpr(0, context));
  size_t at = 0;
  for (auto [expr, dim] : llvm::zip(result, to)) {
    while (dim != 1 && at < from.size() && from[at] == 1) {
      ++at;
    }
    if (dim != 1 && (at == from.size() || from[at] != dim)) {
      return std::nullopt;
    }
    expr = dim == 1 ? expr : index[at++];
  }
  return result;
}

/// Row-major index in `to` of the element with index `index` in `from` (as many elements).
Index reshapeIndex(llvm::ArrayRef<mlir::AffineExpr> index, llvm::ArrayRef<int64_t> from,
                   llvm::ArrayRef<int64_t> to, mlir::MLIRContext* context) {
  if (std::optional<Index> same = sameDimsIndex(index, from, to, context)) {
    return *same;
  }
  mlir::AffineExpr offset = mlir::getAffineConstantExpr(0, context);
  for (auto [expr, dim] : llvm::zip(index, from)) {
    offset = offset * dim + expr;
  }
  Index result(to.size(), offset);
  for (size_t i = to.size(); i-- > 0;) {
    result[i] = i == 0 ? offset : offset % to[i];
    offset = offset.floorDiv(to[i]);
  }
  return result;
}

/// Starts and steps of a slice by dim, when its operands are constant: where the ends are not, what
/// runs has to see that they give the planned shape.
std::optional<std::pair<llvm::SmallVector<int64_t>, llvm::SmallVector<int64_t>>> sliceRanges(
    ir::SliceOp op) {
  auto starts = ir::constantInts(passes::outsideGroup(op.getStarts()));
  auto axes = ir::constantInts(passes::outsideGroup(op.getAxes()));
  auto steps = ir::constantInts(passes::outsideGroup(op.getSteps()));
  if (!starts || !axes || !steps || !ir::constantInts(passes::outsideGroup(op.getEnds()))) {
    return std::nullopt;
  }
  llvm::ArrayRef<int64_t> shape = tensorOf(op.getInput()).getShape();
  llvm::SmallVector<int64_t> first(shape.size(), 0), stride(shape.size(), 1);
  for (auto [start, axis, step] : llvm::zip(*starts, *axes, *steps)) {
    int64_t dim = axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis;
    int64_t from = start < 0 ? start + shape[dim] : start;
    first[dim] = std::clamp<int64_t>(from, 0, step > 0 ? shape[dim] : shape[dim] - 1);
    // With one element the step is not taken, and may be beyond all memory.
    stride[dim] = tensorOf(op.getOutput()).getDimSize(dim) > 1 ? step : 1;
  }
  return std::make_pair(first, stride);
}

/// The scale of each dim, where operands say it before the step runs.
std::optional<llvm::SmallVector<double>> knownScales(ir::ResizeOp op) {
  llvm::ArrayRef<int64_t> in = tensorOf(op.getInput()).getShape();
  llvm::ArrayRef<int64_t> out = tensorOf(op.getOutput()).getShape();
  llvm::SmallVector<double> scales;
  if (!op.getScales()) {
    for (auto [from, to] : llvm::zip(in, out)) {
      scales.push_back(static_cast<double>(to) / static_cast<double>(from));
    }
    return op.getPolicy() == ir::ResizePolicy::kStretch ? std::optional(scales) : std::nullopt;
  }
  auto constant = passes::outsideGroup(op.getScales()).getDefiningOp<ir::ConstantOp>();
  auto dense = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !dense.getElementType().isF32()) {
    return std::nullopt;
  }
  for (float scale : dense.getValues<float>()) {
    scales.push_back(scale);
  }
  return scales.size() == in.size() ? std::optional(scales) : std::nullopt;
}

/// True when each element becomes a whole number of equal ones in every dim.
bool repeatsElements(ir::ResizeOp op) {
  std::optional<llvm::SmallVector<double>> scales = knownScales(op);
  using Coordinates = ir::ResizeCoordinates;
  using Rounding = ir::NearestRounding;
  Coordinates coordinates = op.getCoordinates();
  Rounding rounding = op.getRounding();
  // A source is never half way between two elements where pixels have their centres in the middle.
  bool middle =
      (coordinates == Coordinates::kHalfPixel || coordinates == Coordinates::kPytorchHalfPixel ||
       coordinates == Coordinates::kHalfPixelSymmetric) &&
      (rounding == Rounding::kRoundPreferFloor || rounding == Rounding::kRoundPreferCeil);
  bool below = coordinates == Coordinates::kAsymmetric && rounding == Rounding::kFloor;
  if (op.getMode() != ir::Interpolation::kNearest || !(middle || below) || !scales) {
    return false;
  }
  return llvm::all_of(
      llvm::zip(*scales, tensorOf(op.getInput()).getShape(), tensorOf(op.getOutput()).getShape()),
      [](auto dim) {
        auto [scale, in, out] = dim;
        return in > 0 && out % in == 0 &&
               scale * static_cast<double>(in) == static_cast<double>(out);
      });
}

}  // namespace

mlir::RankedTensorType tensorOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

bool isMovement(mlir::Operation* op) { return !op->hasTrait<ir::IsElementwise>(); }

std::optional<llvm::SmallVector<Index>> operandIndices(mlir::Operation* op,
                                                       llvm::ArrayRef<mlir::AffineExpr> index) {
  mlir::MLIRContext* context = op->getContext();
  using Result = std::optional<llvm::SmallVector<Index>>;
  if (ir::isView(op)) {
    llvm::SmallVector<Index> indices(op->getNumOperands());
    indices[0] = reshapeIndex(index, tensorOf(op->getResult(0)).getShape(),
                              tensorOf(op->getOperand(0)).getShape(), context);
    return indices;
  }
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([&](ir::TransposeOp transpose) -> Result {
        Index operand(index.size());
        for (auto [i, from] : llvm::enumerate(transpose.getPermutation())) {
          operand[from] = index[i];
        }
        return llvm::SmallVector<Index>{operand};
      })
      .Case([&](ir::ExpandOp expand) -> Result {
        return llvm::SmallVector<Index>{
            broadcastIndex(index, tensorOf(expand.getInput()).getShape(), context), Index()};
      })
      .Case([&](ir::TileOp tile) -> Result {
        llvm::SmallVector<Index> indices(op->getNumOperands());
        for (auto [expr, dim] : llvm::zip(index, tensorOf(tile.getInput()).getShape())) {
          indices[0].push_back(expr % dim);
        }
        return indices;
      })
      .Case([&](ir::ResizeOp resize) -> Result {
        if (!repeatsElements(resize)) {
          return std::nullopt;
        }
        llvm::SmallVector<Index> indices(op->getNumOperands());
        for (auto [expr, in, out] : llvm::zip(index, tensorOf(resize.getInput()).getShape(),
                                              tensorOf(resize.getOutput()).getShape())) {
          indices[0].push_back(expr.floorDiv(out / in));
        }
        return indices;
      })
      .Case([&](ir::SliceOp slice) -> Result {
        auto ranges = sliceRanges(slice);
        if (!ranges) {
          return std::nullopt;
        }
        llvm::SmallVector<Index> indices(op->getNumOperands());
        for (auto [expr, first, step] : llvm::zip(index, ranges->first, ranges->second)) {
          indices[0].push_back(expr * step + first);
        }
        return indices;
      })
      .Default([&](mlir::Operation*) -> Result {
        if (!canEmit(op)) {
          return std::nullopt;
        }
        llvm::SmallVector<Index> indices;
        for (mlir::Value operand : op->getOperands()) {
          indices.push_back(broadcastIndex(index, tensorOf(operand).getShape(), context));
        }
        return indices;
      });
}

}  // namespace graphrun::devices::codegen
