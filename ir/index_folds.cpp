// Folders of the index family: what shape arithmetic needs.
#include <cmath>

#include "ir/dialect.h"
#include "ir/dims.h"
#include "ir/folding.h"

namespace graphrun::ir {
namespace {

/// A tensor of static shape as three nested loops: before the axis, along it, behind it.
struct Lines {
  int64_t outer = 1, dim, inner = 1;

  Lines(llvm::ArrayRef<int64_t> shape, int64_t axis) : dim(shape[axis]) {
    for (auto [i, size] : llvm::enumerate(shape)) {
      if (static_cast<int64_t>(i) != axis) {
        (static_cast<int64_t>(i) < axis ? outer : inner) *= size;
      }
    }
  }
  int64_t offset(int64_t line, int64_t i) const {
    return (line / inner * dim + i) * inner + line % inner;
  }
};

/// True for a constant of small, static shape.
bool isSmall(mlir::DenseElementsAttr value) {
  return value && value.getNumElements() <= kMaxFoldedElements;
}

/// `index` in [0, size), or -1.
int64_t wrapped(int64_t index, int64_t size) {
  index += index < 0 ? size : 0;
  return index >= 0 && index < size ? index : -1;
}

}  // namespace

mlir::OpFoldResult RangeOp::fold(FoldAdaptor) {
  mlir::RankedTensorType type = foldableType(getType());
  auto start = constantInts(getStart());
  auto delta = constantInts(getDelta());
  if (!type || !start || !delta || !constantInts(getLimit()) || type.getNumElements() == 0) {
    return nullptr;
  }
  llvm::SmallVector<int64_t> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    // The distance from the first element may be beyond what an int64_t holds.
    values.push_back(
        static_cast<int64_t>(static_cast<uint64_t>((*start)[0]) +
                             static_cast<uint64_t>(i) * static_cast<uint64_t>((*delta)[0])));
  }
  return makeInts(type, values);
}

mlir::OpFoldResult GatherElementsOp::fold(FoldAdaptor adaptor) {
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  auto indices = constantInts(getIndices());
  mlir::RankedTensorType type = foldableType(getType());
  if (!isSmall(input) || !indices || !type || type.getNumElements() == 0) {
    return nullptr;
  }
  llvm::ArrayRef<int64_t> shape = input.getType().getShape();
  auto rank = static_cast<int64_t>(shape.size());
  llvm::SmallVector<int64_t> offsets;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t offset = 0;
    int64_t stride = 1;
    int64_t rest = i;
    for (int64_t d = rank; d-- > 0;) {
      int64_t at = rest % type.getDimSize(d);
      rest /= type.getDimSize(d);
      at = d == getAxis() ? wrapped((*indices)[i], shape[d]) : at;
      if (at < 0 || at >= shape[d]) {
        return nullptr;
      }
      offset += at * stride;
      stride *= shape[d];
    }
    offsets.push_back(offset);
  }
  return pick(input, type, offsets);
}

mlir::OpFoldResult GatherNdOp::fold(FoldAdaptor adaptor) {
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  auto indices = constantInts(getIndices());
  mlir::RankedTensorType type = foldableType(getType());
  if (!isSmall(input) || !indices || !type || type.getNumElements() == 0 || getBatchDims() != 0) {
    return nullptr;
  }
  llvm::ArrayRef<int64_t> shape = input.getType().getShape();
  int64_t depth = llvm::cast<mlir::ShapedType>(getIndices().getType()).getShape().back();
  int64_t slice = 1;
  for (int64_t size : shape.drop_front(depth)) {
    slice *= size;
  }
  llvm::SmallVector<int64_t> offsets;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t offset = 0;
    for (int64_t d = 0; d < depth; ++d) {
      int64_t at = wrapped((*indices)[i / slice * depth + d], shape[d]);
      if (at < 0) {
        return nullptr;
      }
      offset = offset * shape[d] + at;
    }
    offsets.push_back(offset * slice + i % slice);
  }
  return pick(input, type, offsets);
}

mlir::LogicalResult NonZeroOp::fold(FoldAdaptor adaptor,
                                    llvm::SmallVectorImpl<mlir::OpFoldResult>& results) {
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  mlir::RankedTensorType type = foldableType(getPositions().getType());
  auto countType = llvm::dyn_cast<mlir::RankedTensorType>(getCount().getType());
  if (!isSmall(input) || !type || type.getNumElements() == 0) {
    return mlir::failure();
  }
  llvm::ArrayRef<int64_t> shape = input.getType().getShape();
  int64_t elements = type.getDimSize(1);
  llvm::SmallVector<int64_t> positions(type.getNumElements(), 0);
  int64_t count = 0;
  for (auto [i, value] : llvm::enumerate(numbersOf(input))) {
    if (value == 0) {
      continue;
    }
    auto rest = static_cast<int64_t>(i);
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      positions[d * elements + count] = rest % shape[d];
    }
    ++count;
  }
  results.push_back(makeInts(type, positions));
  results.push_back(makeInts(countType, {count}));
  return mlir::success();
}

mlir::OpFoldResult ArgReduceOp::fold(FoldAdaptor adaptor) {
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  mlir::RankedTensorType type = foldableType(getType());
  if (!isSmall(input) || !type || type.getNumElements() == 0) {
    return nullptr;
  }
  llvm::SmallVector<double> x = numbersOf(input);
  Lines lines(input.getType().getShape(), getAxis());
  double sign = getKind() == ReduceKind::kMax ? 1 : -1;
  llvm::SmallVector<int64_t> result;
  for (int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    int64_t best = 0;
    for (int64_t i = 0; i < lines.dim; ++i) {
      double a = sign * x[lines.offset(line, i)];
      if (!(std::abs(a) < 0x1p53)) {
        return nullptr;  // NaN, or an integer that a double may not hold
      }
      double b = sign * x[lines.offset(line, best)];
      best = a > b || (a == b && getLast()) ? i : best;
    }
    result.push_back(best);
  }
  return makeInts(type, result);
}

mlir::OpFoldResult CumulativeOp::fold(FoldAdaptor adaptor) {
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  mlir::RankedTensorType type = foldableType(getType());
  auto given = constantInts(getAxis());
  if (!isSmall(input) || !given || !type || type.getNumElements() == 0 ||
      !type.getElementType().isInteger()) {
    return nullptr;
  }
  llvm::SmallVector<int64_t> x = intsOf(input);
  int64_t axis = wrapped((*given)[0], type.getRank());
  if (axis < 0) {
    return nullptr;
  }
  Lines lines(type.getShape(), axis);
  bool product = getKind() == ReduceKind::kProd;
  llvm::SmallVector<int64_t> result(x.size());
  for (int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    uint64_t total = product ? 1 : 0;
    for (int64_t i = 0; i < lines.dim; ++i) {
      int64_t offset = lines.offset(line, getReverse() ? lines.dim - 1 - i : i);
      auto next = static_cast<uint64_t>(x[offset]);
      uint64_t with = product ? total * next : total + next;
      result[offset] = static_cast<int64_t>(getExclusive() ? total : with);
      total = with;
    }
  }
  return makeInts(type, result);
}

}  // namespace graphrun::ir
