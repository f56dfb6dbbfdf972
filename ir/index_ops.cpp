// Types and costs of the index family.
#include <cmath>

#include "ir/folding.h"
#include "ir/infer.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::ir {
namespace {

mlir::Type indexType(mlir::Operation* op) { return mlir::IntegerType::get(op->getContext(), 64); }

mlir::LogicalResult requireIndices(mlir::Operation* op, mlir::Value value, llvm::StringRef what) {
  mlir::Type element = elementOf(value);
  if (element.isIntOrIndex() && !element.isInteger(1)) {
    return mlir::success();
  }
  return op->emitOpError() << what << " have element type " << element
                           << ", expected an integer type";
}

mlir::LogicalResult requireNumeric(mlir::Operation* op, mlir::Value value, llvm::StringRef what) {
  mlir::Type element = elementOf(value);
  if (isComputed(element) && !element.isInteger(1)) {
    return mlir::success();
  }
  return op->emitOpError() << what << " has element type " << element << ", expected a number";
}

/// Fails when `value` is known not to have exactly one element.
mlir::LogicalResult requireOne(mlir::Operation* op, mlir::Value value, llvm::StringRef what) {
  for (const Dim& dim : dimsOf(value).value_or(Dims())) {
    if (provablyDifferent(dim, Dim(1))) {
      return op->emitOpError() << what << " is " << value.getType() << ", expected one element";
    }
  }
  return mlir::success();
}

/// Fails unless the scatter's updates have the input's element type, and can be combined with it.
template <typename ScatterOp>
mlir::LogicalResult requireCombined(ScatterOp op) {
  if (mlir::failed(requireSameElement(op, op.getInput(), op.getUpdates())) ||
      mlir::failed(requireComputed(op, op.getInput(), "input"))) {
    return mlir::failure();
  }
  if (isStrings(op.getInput().getType()) && op.getReduction() != ScatterReduction::kNone) {
    return op.emitOpError() << "reduction is \"" << stringifyScatterReduction(op.getReduction())
                            << "\", expected none for strings";
  }
  return mlir::success();
}

/// The one element of a constant as a number; nothing when it is not constant.
std::optional<double> constantNumber(mlir::Value value) {
  mlir::DenseElementsAttr attr;
  if (!mlir::matchPattern(value, mlir::m_Constant(&attr)) || attr.getNumElements() != 1) {
    return std::nullopt;
  }
  return llvm::isa<mlir::FloatType>(attr.getElementType()) ? floatsOf(attr)[0]
                                                           : static_cast<double>(intsOf(attr)[0]);
}

/// The one element of an integer tensor as a dim; unknown when nothing is known about it.
Dim elementAsDim(mlir::Value value) {
  std::optional<Dims> elements = elementsOf(value);
  return elements && elements->size() == 1 ? (*elements)[0] : Dim();
}

/// Elements of a range of known numbers, whose distance may be beyond what an int64_t holds.
int64_t knownRangeSize(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) {
    return 0;
  }
  auto distance = [](int64_t from, int64_t to) {
    return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  };
  uint64_t length = delta > 0 ? distance(start, limit) : distance(limit, start);
  uint64_t stride = delta > 0 ? distance(0, delta) : distance(delta, 0);
  return static_cast<int64_t>(std::min<uint64_t>((length - 1) / stride, INT64_MAX - 1) + 1);
}

Dim intRangeSize(const Dim& start, const Dim& limit, int64_t delta) {
  Dim length = delta > 0 ? limit - start : start - limit;
  if (length.isStatic() && length.value() <= 0) {
    return Dim(0);
  }
  return delta == INT64_MIN ? Dim() : length.ceilDiv(delta > 0 ? delta : -delta);
}

Dim floatRangeSize(double start, double limit, double delta) {
  double count = std::ceil((limit - start) / delta);
  constexpr double kMost = 0x1p48;
  return std::isfinite(count) && count < kMost ? Dim(static_cast<int64_t>(std::max(count, 0.0)))
                                               : Dim();
}

Dim rangeSize(RangeOp op) {
  if (llvm::isa<mlir::FloatType>(elementOf(op.getStart()))) {
    auto start = constantNumber(op.getStart());
    auto limit = constantNumber(op.getLimit());
    auto delta = constantNumber(op.getDelta());
    return start && limit && delta ? floatRangeSize(*start, *limit, *delta) : Dim();
  }
  auto start = constantInts(op.getStart());
  auto limit = constantInts(op.getLimit());
  auto step = constantInts(op.getDelta());
  bool known = start && limit && step && start->size() == 1 && limit->size() == 1 &&
               step->size() == 1 && (*step)[0] != 0;
  if (known) {
    return Dim(knownRangeSize((*start)[0], (*limit)[0], (*step)[0]));
  }
  Dim delta = elementAsDim(op.getDelta());
  if (!delta.isStatic() || delta.value() == 0) {
    return Dim();
  }
  return intRangeSize(elementAsDim(op.getStart()), elementAsDim(op.getLimit()), delta.value());
}

/// Work of picking: the result is written and as much read, and the indices.
OpCost pickCost(mlir::Operation* op) {
  OpCost cost = elementwiseCost(op, 0);
  cost.bytesRead = cost.bytesWritten + byteSize(op->getOperand(1).getType());
  return cost;
}

/// The axis of the dims; fails when it is out of range. `dims` may be unknown.
mlir::LogicalResult requireAxis(mlir::Operation* op, int64_t axis,
                                const std::optional<Dims>& dims) {
  return dims ? requireAxes(op, {axis}, dims->size()) : mlir::success();
}

/// Operations for each element and comparison of sorting `dim` elements.
int64_t sortingFlops(int64_t dim) {
  return static_cast<int64_t>(std::ceil(std::log2(static_cast<double>(dim) + 2)));
}

}  // namespace

mlir::LogicalResult RangeOp::inferTypes(Types& types) {
  constexpr llvm::StringLiteral kNames[] = {"start", "limit", "delta"};
  for (auto [value, what] : llvm::zip(getOperands(), kNames)) {
    if (mlir::failed(requireNumeric(*this, value, what)) ||
        mlir::failed(requireOne(*this, value, what)) ||
        mlir::failed(requireSameElement(*this, getStart(), value))) {
      return mlir::failure();
    }
  }
  if (constantNumber(getDelta()) == 0.0) {
    return emitOpError() << "delta is 0, expected another number";
  }
  return push(types, Dims{rangeSize(*this)}, elementOf(getStart()));
}
OpCost RangeOp::cost() { return elementwiseCost(*this, 2); }

mlir::LogicalResult GatherElementsOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> indices = dimsOf(getIndices());
  if (mlir::failed(requireIndices(*this, getIndices(), "indices")) ||
      mlir::failed(requireAxis(*this, getAxis(), in))) {
    return mlir::failure();
  }
  if (in && indices && in->size() != indices->size()) {
    return emitOpError() << "indices are of rank " << indices->size()
                         << ", expected the input's rank " << in->size();
  }
  return push(types, indices, elementOf(getInput()));
}
OpCost GatherElementsOp::cost() { return pickCost(*this); }

namespace {

/// The dims of `indices` but the last, then those of `input` from `first` on.
Dims joined(const Dims& indices, const Dims& input, size_t first) {
  Dims dims(indices.begin(), indices.end() - 1);
  dims.append(input.begin() + first, input.end());
  return dims;
}

/// Number of dims that the vectors in `indices` index; fails when they are more than `room`.
mlir::FailureOr<int64_t> depthOf(mlir::Operation* op, const Dims& indices, int64_t room) {
  if (indices.empty()) {
    return op->emitOpError() << "indices are a scalar, expected a last dim that holds positions";
  }
  const Dim& depth = indices.back();
  if (depth.isStatic() && depth.value() > room) {
    return op->emitOpError() << "indices hold " << depth.value()
                             << " positions each, expected at most " << room;
  }
  return depth.isStatic() ? depth.value() : -1;
}

}  // namespace

mlir::LogicalResult GatherNdOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> indices = dimsOf(getIndices());
  if (mlir::failed(requireIndices(*this, getIndices(), "indices"))) {
    return mlir::failure();
  }
  if (!in || !indices) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  int64_t batch = getBatchDims();
  auto rank = static_cast<int64_t>(in->size());
  if (batch < 0 || batch > rank || batch >= std::max<int64_t>(indices->size(), 1)) {
    return emitOpError() << "batch_dims is " << batch << ", expected fewer than the "
                         << indices->size() << " dims of indices and at most the input's " << rank;
  }
  mlir::FailureOr<int64_t> depth = depthOf(*this, *indices, rank - batch);
  if (mlir::failed(depth)) {
    return mlir::failure();
  }
  for (int64_t i = 0; i < batch; ++i) {
    if (provablyDifferent((*in)[i], (*indices)[i])) {
      return emitOpError() << "batch dim " << i << " is " << (*in)[i].value()
                           << " in the input and " << (*indices)[i].value()
                           << " in indices, expected equal";
    }
  }
  return push(types,
              *depth < 0 ? std::nullopt : std::optional(joined(*indices, *in, batch + *depth)),
              elementOf(getInput()));
}
OpCost GatherNdOp::cost() { return pickCost(*this); }

mlir::LogicalResult ScatterElementsOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> indices = dimsOf(getIndices());
  std::optional<Dims> updates = dimsOf(getUpdates());
  if (mlir::failed(requireIndices(*this, getIndices(), "indices")) ||
      mlir::failed(requireCombined(*this)) || mlir::failed(requireAxis(*this, getAxis(), in))) {
    return mlir::failure();
  }
  for (const auto& [dims, what] : {std::pair(indices, "indices"), std::pair(updates, "updates")}) {
    if (in && dims && in->size() != dims->size()) {
      return emitOpError() << what << " are of rank " << dims->size()
                           << ", expected the input's rank " << in->size();
    }
  }
  for (size_t i = 0; indices && updates && i < indices->size(); ++i) {
    if (provablyDifferent((*indices)[i], (*updates)[i])) {
      return emitOpError() << "updates are " << toString(*updates)
                           << ", expected the shape of indices " << toString(*indices);
    }
  }
  return push(types, in, elementOf(getInput()));
}
OpCost ScatterElementsOp::cost() {
  return elementwiseCost(*this, getReduction() == ScatterReduction::kNone ? 0 : 1);
}

mlir::LogicalResult ScatterNdOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> indices = dimsOf(getIndices());
  std::optional<Dims> updates = dimsOf(getUpdates());
  if (mlir::failed(requireIndices(*this, getIndices(), "indices")) ||
      mlir::failed(requireCombined(*this))) {
    return mlir::failure();
  }
  if (!in || !indices) {
    return push(types, in, elementOf(getInput()));
  }
  mlir::FailureOr<int64_t> depth = depthOf(*this, *indices, in->size());
  if (mlir::failed(depth)) {
    return mlir::failure();
  }
  if (*depth >= 0 && updates) {
    Dims expected = joined(*indices, *in, *depth);
    bool fits = expected.size() == updates->size();
    for (size_t i = 0; fits && i < expected.size(); ++i) {
      fits = !provablyDifferent(expected[i], (*updates)[i]);
    }
    if (!fits) {
      return emitOpError() << "updates are " << toString(*updates) << ", expected "
                           << toString(expected)
                           << " (the dims of indices but the last, then those not indexed)";
    }
  }
  return push(types, in, elementOf(getInput()));
}
OpCost ScatterNdOp::cost() {
  return elementwiseCost(*this, getReduction() == ScatterReduction::kNone ? 0 : 1);
}

mlir::LogicalResult NonZeroOp::inferTypes(Types& types) {
  if (mlir::failed(requireComputed(*this, getInput(), "input"))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  Dims positions(2);
  if (in) {
    positions = {Dim(static_cast<int64_t>(in->size())), product(*in)};
  }
  static_cast<void>(push(types, positions, indexType(*this)));
  return push(types, Dims{Dim(1)}, indexType(*this));
}
OpCost NonZeroOp::cost() { return elementwiseCost(*this, 1); }

mlir::LogicalResult UniqueOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  if (mlir::failed(requireComputed(*this, getInput(), "input")) ||
      mlir::failed(requireAxis(*this, getAxis(), in))) {
    return mlir::failure();
  }
  Dims along = {in ? (*in)[getAxis()] : Dim()};
  static_cast<void>(push(types, in, elementOf(getInput())));
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(push(types, along, indexType(*this)));
  }
  return push(types, Dims{Dim(1)}, indexType(*this));
}
OpCost UniqueOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(getInput().getType());
      type && cost.bytesRead > 0) {
    cost.flops = type.getNumElements() * sortingFlops(type.getDimSize(getAxis()));
  }
  return cost;
}

mlir::LogicalResult TopKOp::inferTypes(Types& types) {
  std::optional<Dims> dims = dimsOf(getInput());
  if (mlir::failed(requireIndices(*this, getK(), "k")) ||
      mlir::failed(requireOne(*this, getK(), "k")) ||
      mlir::failed(requireNumeric(*this, getInput(), "input")) ||
      mlir::failed(requireAxis(*this, getAxis(), dims))) {
    return mlir::failure();
  }
  Dim k = elementAsDim(getK());
  if (k.isStatic() && k.value() < 0) {
    return emitOpError() << "k is " << k.value() << ", expected at least 0";
  }
  if (dims) {
    Dim& dim = (*dims)[getAxis()];
    if (k.isStatic() && dim.isStatic() && k.value() > dim.value()) {
      return emitOpError() << "k is " << k.value() << ", but dim " << getAxis()
                           << " of the input is " << dim.value();
    }
    dim = k;
  }
  static_cast<void>(push(types, dims, elementOf(getInput())));
  return push(types, dims, indexType(*this));
}
OpCost TopKOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto type = llvm::cast<mlir::RankedTensorType>(getInput().getType());
    auto k = llvm::cast<mlir::RankedTensorType>(getValues().getType()).getDimSize(getAxis());
    cost.flops = type.getNumElements() * sortingFlops(k);
  }
  return cost;
}

mlir::LogicalResult ArgReduceOp::inferTypes(Types& types) {
  std::optional<Dims> dims = dimsOf(getInput());
  if (mlir::failed(requireNumeric(*this, getInput(), "input")) ||
      mlir::failed(requireAxis(*this, getAxis(), dims))) {
    return mlir::failure();
  }
  if (dims && provablyEqual((*dims)[getAxis()], Dim(0))) {
    return emitOpError() << "dim " << getAxis() << " of the input is empty, expected an element";
  }
  if (dims && getKeepdims()) {
    (*dims)[getAxis()] = Dim(1);
  } else if (dims) {
    dims->erase(dims->begin() + getAxis());
  }
  return push(types, dims, indexType(*this));
}
OpCost ArgReduceOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    cost.flops = llvm::cast<mlir::ShapedType>(getInput().getType()).getNumElements();
  }
  return cost;
}

mlir::LogicalResult CumulativeOp::inferTypes(Types& types) {
  std::optional<Dims> dims = dimsOf(getInput());
  if (mlir::failed(requireNumeric(*this, getInput(), "input")) ||
      mlir::failed(requireIndices(*this, getAxis(), "axis")) ||
      mlir::failed(requireOne(*this, getAxis(), "axis"))) {
    return mlir::failure();
  }
  auto axis = constantNumber(getAxis());
  double rank = dims ? static_cast<double>(dims->size()) : 0;
  if (dims && axis && (*axis < -rank || *axis >= rank)) {
    return emitOpError() << "axis " << static_cast<int64_t>(*axis) << " is out of range for rank "
                         << dims->size();
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost CumulativeOp::cost() { return elementwiseCost(*this, 1); }

mlir::LogicalResult NonMaxSuppressionOp::inferTypes(Types& types) {
  std::optional<Dims> boxes = dimsOf(getBoxes());
  std::optional<Dims> scores = dimsOf(getScores());
  if (mlir::failed(requireFloat(*this, getBoxes(), "boxes")) ||
      mlir::failed(requireSameElement(*this, getBoxes(), getScores())) ||
      mlir::failed(requireIndices(*this, getMaxBoxes(), "max_boxes")) ||
      mlir::failed(requireOne(*this, getMaxBoxes(), "max_boxes")) ||
      mlir::failed(requireSameElement(*this, getBoxes(), getIouThreshold())) ||
      mlir::failed(requireSameElement(*this, getBoxes(), getScoreThreshold())) ||
      mlir::failed(requireOne(*this, getIouThreshold(), "iou_threshold")) ||
      mlir::failed(requireOne(*this, getScoreThreshold(), "score_threshold"))) {
    return mlir::failure();
  }
  bool fits = (!boxes || (boxes->size() == 3 && !provablyDifferent((*boxes)[2], Dim(4)))) &&
              (!scores || scores->size() == 3);
  if (fits && boxes && scores) {
    fits = !provablyDifferent((*boxes)[0], (*scores)[0]) &&
           !provablyDifferent((*boxes)[1], (*scores)[2]);
  }
  if (!fits) {
    return emitOpError() << "boxes are " << getBoxes().getType() << " and scores "
                         << getScores().getType()
                         << ", expected batches x boxes x 4 and batches x classes x boxes";
  }
  Dim most;
  if (scores) {
    Dim each = (*scores)[2];
    if (getBound() >= 0 && (!each.isStatic() || each.value() > getBound())) {
      each = Dim(getBound());
    }
    most = (*scores)[0] * (*scores)[1] * each;
  }
  static_cast<void>(push(types, Dims{most, Dim(3)}, indexType(*this)));
  return push(types, Dims{Dim(1)}, indexType(*this));
}
OpCost NonMaxSuppressionOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto scores = llvm::cast<mlir::RankedTensorType>(getScores().getType());
    // Sorting, then each box against some taken ones: a guess, as the number taken is data.
    constexpr int64_t kComparisons = 16;
    cost.flops = scores.getNumElements() * (sortingFlops(scores.getDimSize(2)) + kComparisons);
  }
  return cost;
}

mlir::LogicalResult DetOp::inferTypes(Types& types) {
  std::optional<Dims> dims = dimsOf(getInput());
  if (mlir::failed(requireFloat(*this, getInput(), "input"))) {
    return mlir::failure();
  }
  if (!dims) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  size_t rank = dims->size();
  if (rank < 2 || provablyDifferent((*dims)[rank - 1], (*dims)[rank - 2])) {
    return emitOpError() << "input is " << toString(*dims)
                         << ", expected square matrices in the last two dims";
  }
  dims->truncate(rank - 2);
  return push(types, dims, elementOf(getInput()));
}
OpCost DetOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto type = llvm::cast<mlir::RankedTensorType>(getInput().getType());
    cost.flops = type.getNumElements() * type.getShape().back() * 2 / 3;
  }
  return cost;
}

}  // namespace graphrun::ir
