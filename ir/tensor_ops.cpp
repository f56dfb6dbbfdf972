// Types and costs of the tensor family.
#include "ir/infer.h"
#include "llvm/ADT/SmallSet.h"

namespace graphrun::ir {

mlir::LogicalResult requireIntVector(mlir::Operation* op, mlir::Value value, llvm::StringRef what) {
  std::optional<Dims> dims = dimsOf(value);
  if (!elementOf(value).isIntOrIndex() || (dims && dims->size() != 1)) {
    return op->emitOpError() << what << " is " << value.getType()
                             << ", expected a 1-D integer tensor";
  }
  return mlir::success();
}

namespace {

/// A result of known rank whose dims are not known.
Dims unknownDims(size_t rank) { return Dims(rank); }

}  // namespace

std::optional<Dims> dimsFromShape(mlir::Value shape) {
  if (std::optional<Dims> elements = elementsOf(shape)) {
    return elements;
  }
  std::optional<Dims> dims = dimsOf(shape);
  if (dims && dims->size() == 1 && (*dims)[0].isStatic()) {
    return unknownDims((*dims)[0].value());
  }
  return std::nullopt;
}

mlir::LogicalResult ConstantOp::inferTypes(Types& types) {
  types.push_back(getValue().getShapedType());
  return mlir::success();
}
OpCost ConstantOp::cost() { return {}; }

mlir::LogicalResult ShapeOp::inferTypes(Types& types) {
  mlir::Type i64 = mlir::IntegerType::get(getContext(), 64);
  std::optional<Dims> in = dimsOf(getInput());
  if (!in) {
    return push(types, unknownDims(1), i64);
  }
  auto rank = static_cast<int64_t>(in->size());
  auto clamp = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  int64_t start = clamp(getStart());
  int64_t end = clamp(getEnd().value_or(rank));
  return push(types, Dims{Dim(std::max<int64_t>(end - start, 0))}, i64);
}
OpCost ShapeOp::cost() { return {}; }

namespace {

/// The dim that -1 stands for, or unknown: the input's elements divided by those of the other dims.
Dim remainingDim(llvm::ArrayRef<Dim> in, llvm::ArrayRef<Dim> others) {
  // Dims that stand on both sides cancel, also symbolic ones.
  Dims left(in.begin(), in.end());
  int64_t divisor = 1;
  for (const Dim& other : others) {
    auto* same = llvm::find_if(left, [&](const Dim& dim) { return provablyEqual(dim, other); });
    if (same != left.end()) {
      left.erase(same);
    } else if (other.isStatic()) {
      divisor *= other.value();
    } else {
      return Dim();
    }
  }
  Dim total = product(left);
  if (divisor <= 0 || total.isUnknown()) {
    return Dim();
  }
  return total.floorDiv(divisor);
}

}  // namespace

mlir::LogicalResult ReshapeOp::inferTypes(Types& types) {
  if (mlir::failed(requireIntVector(*this, getShape(), "shape"))) {
    return mlir::failure();
  }
  mlir::Type element = elementOf(getInput());
  std::optional<Dims> shape = elementsOf(getShape());
  std::optional<Dims> in = dimsOf(getInput());
  if (!shape) {
    return push(types, dimsFromShape(getShape()), element);
  }
  Dims others;
  int64_t open = -1;
  for (auto [i, dim] : llvm::enumerate(*shape)) {
    if (dim.isStatic() && dim.value() == 0 && !getAllowZero()) {
      if (in && i >= in->size()) {
        return emitOpError() << "shape copies dim " << i << " of an input of rank " << in->size();
      }
      dim = in ? (*in)[i] : Dim();
    } else if (dim.isStatic() && dim.value() < 0) {
      if (dim.value() != -1 || open >= 0) {
        return emitOpError() << "shape has " << (open >= 0 ? "two dims of -1" : "a dim below -1");
      }
      open = static_cast<int64_t>(i);
      continue;
    }
    others.push_back(dim);
  }
  if (open >= 0) {
    (*shape)[open] = in ? remainingDim(*in, others) : Dim();
  }
  Dim from = in ? product(*in) : Dim();
  Dim to = product(*shape);
  if (provablyDifferent(from, to)) {
    return emitOpError() << "cannot reshape " << toString(*in) << " (" << from.value()
                         << " elements) to " << toString(*shape) << " (" << to.value() << ")";
  }
  return push(types, shape, element);
}
OpCost ReshapeOp::cost() { return {}; }

mlir::LogicalResult SqueezeOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  if (!in) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  if (mlir::failed(requireAxes(*this, getAxes(), in->size()))) {
    return mlir::failure();
  }
  Dims dims;
  for (auto [i, dim] : llvm::enumerate(*in)) {
    if (!llvm::is_contained(getAxes(), static_cast<int64_t>(i))) {
      dims.push_back(dim);
    } else if (provablyDifferent(dim, Dim(1))) {
      return emitOpError() << "dim " << i << " of " << toString(*in) << " is " << dim.value()
                           << ", expected 1";
    }
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost SqueezeOp::cost() { return {}; }

mlir::LogicalResult UnsqueezeOp::inferTypes(Types& types) {
  std::optional<Dims> dims = dimsOf(getInput());
  if (!dims) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  if (mlir::failed(requireAxes(*this, getAxes(), dims->size() + getAxes().size()))) {
    return mlir::failure();
  }
  for (int64_t axis : getAxes()) {
    dims->insert(dims->begin() + axis, Dim(1));
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost UnsqueezeOp::cost() { return {}; }

mlir::LogicalResult TransposeOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  llvm::ArrayRef<int64_t> permutation = getPermutation();
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t from : permutation) {
    if (from < 0 || from >= static_cast<int64_t>(permutation.size()) || !seen.insert(from).second) {
      return emitOpError() << "permutation is not one of 0 to " << permutation.size() - 1;
    }
  }
  if (!in) {
    return push(types, unknownDims(permutation.size()), elementOf(getInput()));
  }
  if (in->size() != permutation.size()) {
    return emitOpError() << "permutation has " << permutation.size()
                         << " entries, expected the input's rank " << in->size();
  }
  Dims dims;
  for (int64_t from : permutation) {
    dims.push_back((*in)[from]);
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost TransposeOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult ConcatOp::inferTypes(Types& types) {
  if (getInputs().empty()) {
    return emitOpError() << "has no operand, expected at least one";
  }
  std::optional<Dims> dims;
  auto axis = getAxis();
  for (mlir::Value input : getInputs()) {
    std::optional<Dims> next = dimsOf(input);
    if (mlir::failed(requireSameElement(*this, getInputs()[0], input))) {
      return mlir::failure();
    }
    if (!next) {
      return push(types, std::nullopt, elementOf(getInputs()[0]));
    }
    if (mlir::failed(requireAxes(*this, {axis}, next->size()))) {
      return mlir::failure();
    }
    if (!dims) {
      dims = next;
      continue;
    }
    if (next->size() != dims->size()) {
      return emitOpError() << "operands have ranks " << dims->size() << " and " << next->size()
                           << ", expected equal";
    }
    for (auto [i, dim] : llvm::enumerate(*next)) {
      Dim& joined = (*dims)[i];
      if (static_cast<int64_t>(i) == axis) {
        joined = joined + dim;
      } else if (provablyDifferent(joined, dim)) {
        return emitOpError() << "operand shapes " << toString(*dims) << " and " << toString(*next)
                             << " differ in dim " << i << ", expected only in axis " << axis;
      } else if (dim.isStatic()) {
        joined = dim;
      }
    }
  }
  return push(types, dims, elementOf(getInputs()[0]));
}
OpCost ConcatOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult SplitOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  mlir::Type element = elementOf(getInput());
  auto parts = static_cast<int64_t>(getNumResults());
  if (!getSizes().empty() && static_cast<int64_t>(getSizes().size()) != parts) {
    return emitOpError() << "sizes has " << getSizes().size() << " entries, expected " << parts
                         << " (one a result)";
  }
  auto axis = getAxis();
  if (in && mlir::failed(requireAxes(*this, {axis}, in->size()))) {
    return mlir::failure();
  }
  int64_t total = 0;
  for (int64_t size : getSizes()) {
    if (size < 0) {
      return emitOpError() << "sizes has the negative element " << size;
    }
    total += size;
  }
  if (in && !getSizes().empty() && provablyDifferent((*in)[axis], Dim(total))) {
    return emitOpError() << "sizes add up to " << total << ", expected dim " << axis << " of "
                         << toString(*in);
  }
  for (int64_t i = 0; i < parts; ++i) {
    std::optional<Dims> dims = in;
    if (dims && !getSizes().empty()) {
      (*dims)[axis] = Dim(getSizes()[i]);
    } else if (dims) {
      Dim part = (*in)[axis].ceilDiv(parts);
      (*dims)[axis] = i + 1 < parts ? part : (*in)[axis] - part * Dim(parts - 1);
    }
    static_cast<void>(push(types, dims, element));
  }
  return mlir::success();
}
OpCost SplitOp::cost() { return elementwiseCost(*this, 0); }

namespace {

/// The elements of a vector of positions, as far as they are known.
llvm::SmallVector<std::optional<int64_t>> positionsOf(mlir::Value value) {
  llvm::SmallVector<std::optional<int64_t>> positions;
  for (const Dim& dim : elementsOf(value).value_or(Dims())) {
    positions.push_back(dim.isStatic() ? std::optional(dim.value()) : std::nullopt);
  }
  return positions;
}

/// Size of the range that ONNX Slice takes of a static dim.
int64_t sliceSize(int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (dim == 0) {
    return 0;
  }
  auto position = [&](int64_t p, int64_t low, int64_t high) {
    return std::clamp<int64_t>(p < 0 ? p + dim : p, low, high);
  };
  if (step > 0) {
    start = position(start, 0, dim);
    end = position(end, 0, dim);
    return std::max<int64_t>(0, llvm::divideCeilSigned(end - start, step));
  }
  start = position(start, 0, dim - 1);
  end = end < -dim ? -1 : position(end, -1, dim - 1);
  // The smallest step has no opposite; one as long as the dim takes as many elements.
  return std::max<int64_t>(0, llvm::divideCeilSigned(start - end, std::min(-(step + 1), dim) + 1));
}

/// The same for a symbolic dim, where it can be told: a whole dim, or a range of known length.
Dim symbolicSliceSize(const Dim& dim, int64_t start, int64_t end, int64_t step) {
  constexpr int64_t kFar = int64_t{1} << 31;
  if (step != 1 || dim.isUnknown()) {
    return Dim();
  }
  bool toEnd = end >= kFar - 1;
  if (start >= 0 && toEnd) {
    return dim - Dim(start);  // start is at most dim: the slice is checked again with real dims
  }
  // What is further away than dims reach says: from the beginning, or nothing.
  if (start < 0 && toEnd) {
    return start <= -kFar ? dim : Dim(-start);
  }
  return start == 0 && end < 0 ? (end <= -kFar ? Dim(0) : dim + Dim(end)) : Dim();
}

}  // namespace

mlir::LogicalResult SliceOp::inferTypes(Types& types) {
  constexpr llvm::StringLiteral kNames[] = {"starts", "ends", "axes", "steps"};
  for (auto [value, what] : llvm::zip(getOperands().drop_front(), kNames)) {
    if (mlir::failed(requireIntVector(*this, value, what))) {
      return mlir::failure();
    }
  }
  std::optional<Dims> dims = dimsOf(getInput());
  std::optional<llvm::SmallVector<int64_t>> axes = constantInts(getAxes());
  if (!dims || !axes) {
    return push(types, dims ? unknownDims(dims->size()) : dims, elementOf(getInput()));
  }
  auto starts = positionsOf(getStarts());
  auto ends = positionsOf(getEnds());
  auto steps = positionsOf(getSteps());
  auto rank = static_cast<int64_t>(dims->size());
  for (auto [i, given] : llvm::enumerate(*axes)) {
    int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) {
      return emitOpError() << "axis " << given << " is out of range for rank " << rank;
    }
    Dim& dim = (*dims)[axis];
    bool known = i < starts.size() && i < ends.size() && i < steps.size() && starts[i] && ends[i] &&
                 steps[i];
    if (!known) {
      dim = Dim();
      continue;
    }
    if (*steps[i] == 0) {
      return emitOpError() << "step of axis " << axis << " is 0";
    }
    dim = dim.isStatic() ? Dim(sliceSize(dim.value(), *starts[i], *ends[i], *steps[i]))
                         : symbolicSliceSize(dim, *starts[i], *ends[i], *steps[i]);
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost SliceOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  cost.bytesRead = cost.bytesWritten;
  return cost;
}

mlir::LogicalResult PadOp::inferTypes(Types& types) {
  if (mlir::failed(requireIntVector(*this, getPads(), "pads")) ||
      mlir::failed(requireSameElement(*this, getInput(), getValue()))) {
    return mlir::failure();
  }
  std::optional<Dims> dims = dimsOf(getInput());
  std::optional<Dims> pads = elementsOf(getPads());
  if (!dims || !pads) {
    return push(types, dims ? unknownDims(dims->size()) : dims, elementOf(getInput()));
  }
  if (pads->size() != 2 * dims->size()) {
    return emitOpError() << "pads has " << pads->size() << " elements, expected "
                         << 2 * dims->size() << " (begin and end of each dim)";
  }
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    dim = dim + (*pads)[i] + (*pads)[dims->size() + i];
    if (dim.isStatic() && dim.value() < 0) {
      return emitOpError() << "pads crop dim " << i << " to " << dim.value();
    }
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost PadOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult GatherOp::inferTypes(Types& types) {
  if (!elementOf(getIndices()).isIntOrIndex() || elementOf(getIndices()).isInteger(1)) {
    return emitOpError() << "indices have element type " << elementOf(getIndices())
                         << ", expected an integer type";
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> indices = dimsOf(getIndices());
  auto axis = getAxis();
  if (in && mlir::failed(requireAxes(*this, {axis}, in->size()))) {
    return mlir::failure();
  }
  if (!in || !indices) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  Dims dims(in->begin(), in->begin() + axis);
  dims.append(indices->begin(), indices->end());
  dims.append(in->begin() + axis + 1, in->end());
  return push(types, dims, elementOf(getInput()));
}
OpCost GatherOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  cost.bytesRead = cost.bytesWritten + byteSize(getIndices().getType());
  return cost;
}

mlir::LogicalResult ExpandOp::inferTypes(Types& types) {
  if (mlir::failed(requireIntVector(*this, getShape(), "shape"))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> shape = dimsFromShape(getShape());
  if (!in || !shape) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  for (const Dim& dim : *shape) {
    if (dim.isStatic() && dim.value() < 0) {
      return emitOpError() << "shape has the negative dim " << dim.value();
    }
  }
  std::optional<Dims> dims = broadcast(*in, *shape);
  if (!dims) {
    return emitOpError() << "cannot broadcast " << toString(*in) << " to " << toString(*shape);
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost ExpandOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult TileOp::inferTypes(Types& types) {
  if (mlir::failed(requireIntVector(*this, getRepeats(), "repeats"))) {
    return mlir::failure();
  }
  std::optional<Dims> dims = dimsOf(getInput());
  std::optional<Dims> repeats = elementsOf(getRepeats());
  if (!dims || !repeats) {
    return push(types, dims ? unknownDims(dims->size()) : dims, elementOf(getInput()));
  }
  if (repeats->size() != dims->size()) {
    return emitOpError() << "repeats has " << repeats->size() << " elements, expected "
                         << dims->size();
  }
  for (auto [dim, repeat] : llvm::zip(*dims, *repeats)) {
    if (repeat.isStatic() && repeat.value() < 0) {
      return emitOpError() << "repeats has the negative element " << repeat.value();
    }
    dim = dim * repeat;
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost TileOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult FillOp::inferTypes(Types& types) {
  if (mlir::failed(requireIntVector(*this, getShape(), "shape"))) {
    return mlir::failure();
  }
  if (getValue().getNumElements() != 1) {
    return emitOpError() << "value has " << getValue().getNumElements() << " elements, expected 1";
  }
  std::optional<Dims> shape = elementsOf(getShape());
  for (const Dim& dim : shape.value_or(Dims())) {
    if (dim.isStatic() && dim.value() < 0) {
      return emitOpError() << "shape has the negative dim " << dim.value();
    }
  }
  return push(types, dimsFromShape(getShape()), getValue().getElementType());
}
OpCost FillOp::cost() { return elementwiseCost(*this, 0); }

}  // namespace graphrun::ir
