// Types and costs of the family of classical machine learning.
#include "ir/infer.h"

namespace graphrun::ir {
namespace {

mlir::Type wholeType(mlir::Operation* op) { return mlir::IntegerType::get(op->getContext(), 64); }

/// Fails when the rank of `value` is known to be another.
mlir::LogicalResult requireElement(mlir::Operation* op, mlir::Value value, mlir::Type element,
                                   llvm::StringRef what) {
  if (elementOf(value) == element) {
    return mlir::success();
  }
  return op->emitOpError() << what << " has element type " << elementOf(value) << ", expected "
                           << element;
}

/// Bytes of all operands and results; `flops` on top.
OpCost plainCost(mlir::Operation* op, int64_t flops) {
  OpCost cost = elementwiseCost(op, 0);
  cost.flops = hasStaticShapes(op) ? flops : 0;
  return cost;
}

int64_t elementsIn(mlir::Value value) {
  auto type = llvm::cast<mlir::ShapedType>(value.getType());
  return type.hasStaticShape() ? type.getNumElements() : 0;
}

/// Dim `i` of a value; unknown where the rank is.
Dim dimAt(mlir::Value value, size_t i) {
  std::optional<Dims> dims = dimsOf(value);
  return dims && i < dims->size() ? (*dims)[i] : Dim();
}

}  // namespace

mlir::LogicalResult LookupOp::inferTypes(Types& types) {
  if (mlir::failed(requireSameElement(*this, getInput(), getKeys())) ||
      mlir::failed(requireRank(*this, getKeys(), "keys", 1))) {
    return mlir::failure();
  }
  return push(types, dimsOf(getInput()), wholeType(*this));
}
OpCost LookupOp::cost() { return plainCost(*this, 8 * elementsIn(getInput())); }

mlir::LogicalResult NgramCountOp::inferTypes(Types& types) {
  std::optional<Dims> dims = dimsOf(getInput());
  mlir::Type element = elementOf(getInput());
  if (mlir::failed(requireSameElement(*this, getInput(), getPool())) ||
      mlir::failed(requireRank(*this, getPool(), "pool", 1))) {
    return mlir::failure();
  }
  if (!isStrings(element) && !element.isSignlessInteger(64)) {
    return emitOpError() << "input has element type " << element << ", expected i64 or strings";
  }
  if (dims && (dims->empty() || dims->size() > 2)) {
    return emitOpError() << "input is of rank " << dims->size() << ", expected 1 or 2";
  }
  for (int64_t index : getPlaces()) {
    if (index < 0 || index >= getSize()) {
      return emitOpError() << "counts at index " << index << ", expected 0 to " << getSize() - 1;
    }
  }
  if (getShortest() < 1 || getLongest() < getShortest() || getSkips() < 0) {
    return emitOpError() << "counts n-grams of " << getShortest() << " to " << getLongest()
                         << " elements with " << getSkips() << " skips, expected 1 or more, and 0 "
                         << "or more skips";
  }
  if (dims) {
    dims->back() = Dim(getSize());
  }
  return push(types, dims, mlir::Float32Type::get(getContext()));
}
OpCost NgramCountOp::cost() {
  return plainCost(*this, 8 * elementsIn(getInput()) * (1 + getSkips()) * getLongest());
}

mlir::LogicalResult TreeEnsembleOp::inferTypes(Types& types) {
  mlir::Type element = elementOf(getInput());
  mlir::Type whole = wholeType(*this);
  if (mlir::failed(requireFloat(*this, getInput(), "input")) ||
      mlir::failed(requireRank(*this, getInput(), "input", 2)) ||
      mlir::failed(requireRank(*this, getSplits(), "splits", 1)) ||
      mlir::failed(requireRank(*this, getNodes(), "nodes", 2)) ||
      mlir::failed(requireRank(*this, getMembers(), "members", 1)) ||
      mlir::failed(requireRank(*this, getWeights(), "weights", 1)) ||
      mlir::failed(requireRank(*this, getTargets(), "targets", 1)) ||
      mlir::failed(requireRank(*this, getRoots(), "roots", 1)) ||
      mlir::failed(requireElement(*this, getSplits(), element, "splits")) ||
      mlir::failed(requireElement(*this, getMembers(), element, "members")) ||
      mlir::failed(requireElement(*this, getWeights(), element, "weights")) ||
      mlir::failed(requireElement(*this, getNodes(), whole, "nodes")) ||
      mlir::failed(requireElement(*this, getTargets(), whole, "targets")) ||
      mlir::failed(requireElement(*this, getRoots(), whole, "roots"))) {
    return mlir::failure();
  }
  if (getOutputs() < 1) {
    return emitOpError() << "has " << getOutputs() << " outputs, expected 1 or more";
  }
  if (provablyDifferent(dimAt(getNodes(), 1), Dim(7))) {
    return emitOpError() << "nodes are " << getNodes().getType() << ", expected 7 columns";
  }
  return push(types, Dims{dimAt(getInput(), 0), Dim(getOutputs())}, element);
}
OpCost TreeEnsembleOp::cost() {
  constexpr int64_t kDepth = 8;  // comparisons from a root to a leaf, as trees are commonly grown
  return plainCost(*this, elementsIn(getOutput()) / std::max<int64_t>(getOutputs(), 1) *
                              elementsIn(getRoots()) * kDepth * 4);
}

mlir::LogicalResult SquaredDistanceOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getLhs(), "lhs")) ||
      mlir::failed(requireSameElement(*this, getLhs(), getRhs())) ||
      mlir::failed(requireRank(*this, getLhs(), "lhs", 2)) ||
      mlir::failed(requireRank(*this, getRhs(), "rhs", 2))) {
    return mlir::failure();
  }
  if (provablyDifferent(dimAt(getLhs(), 1), dimAt(getRhs(), 1))) {
    return emitOpError() << "rows have " << dimAt(getLhs(), 1).value() << " and "
                         << dimAt(getRhs(), 1).value() << " elements, expected as many";
  }
  return push(types, Dims{dimAt(getLhs(), 0), dimAt(getRhs(), 0)}, elementOf(getLhs()));
}
OpCost SquaredDistanceOp::cost() {
  Dim features = dimAt(getLhs(), 1);
  return plainCost(*this,
                   3 * elementsIn(getOutput()) * (features.isStatic() ? features.value() : 0));
}

mlir::LogicalResult CoupleProbabilitiesOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getPairwise(), "pairwise")) ||
      mlir::failed(requireRank(*this, getPairwise(), "pairwise", 3))) {
    return mlir::failure();
  }
  Dim rows = dimAt(getPairwise(), 1);
  if (provablyDifferent(rows, dimAt(getPairwise(), 2))) {
    return emitOpError() << "pairwise is " << getPairwise().getType()
                         << ", expected two last dims that are equal";
  }
  return push(types, Dims{dimAt(getPairwise(), 0), rows}, elementOf(getPairwise()));
}
OpCost CoupleProbabilitiesOp::cost() { return plainCost(*this, 200 * elementsIn(getPairwise())); }

}  // namespace graphrun::ir
