// Types of control flow and of deferred nodes.
#include "ir/builders.h"
#include "ir/gradients/builder.h"
#include "ir/infer.h"

namespace graphrun::ir {
namespace {

mlir::LogicalResult requireOne(mlir::Operation* op, mlir::Value value, llvm::StringRef what,
                               unsigned width) {
  auto type = llvm::cast<mlir::TensorType>(value.getType());
  bool one = !type.hasStaticShape() || type.getNumElements() == 1;
  if (one &&
      (type.getElementType().isInteger(width) || type == placeholderType(op->getContext()))) {
    return mlir::success();
  }
  return op->emitOpError() << what << " is " << type << ", expected one element of type i" << width;
}

/// The type of values of type `element` joined along a new first axis.
mlir::Type collected(mlir::Type element) {
  std::optional<Dims> dims = dimsOf(element);
  if (element == placeholderType(element.getContext()) || !dims) {
    return element;
  }
  dims->insert(dims->begin(), Dim());
  return tensorType(*dims, llvm::cast<mlir::TensorType>(element).getElementType());
}

}  // namespace

mlir::Type joinTypes(mlir::Type a, mlir::Type b) {
  if (isSequence(a) && isSequence(b)) {
    return a == b ? a : sequenceType(a.getContext());
  }
  if (a == b || a == placeholderType(a.getContext())) {
    return a;
  }
  if (b == placeholderType(b.getContext())) {
    return b;
  }
  mlir::Type element = llvm::cast<mlir::TensorType>(a).getElementType();
  if (element != llvm::cast<mlir::TensorType>(b).getElementType()) {
    return nullptr;
  }
  std::optional<Dims> left = dimsOf(a);
  std::optional<Dims> right = dimsOf(b);
  if (!left || !right || left->size() != right->size()) {
    return mlir::UnrankedTensorType::get(element);
  }
  for (auto [x, y] : llvm::zip(*left, *right)) {
    x = provablyEqual(x, y) ? x : Dim();
  }
  return tensorType(*left, element);
}

llvm::SmallVector<mlir::Value> DeferredOp::decidingOperands() {
  llvm::SmallVector<mlir::Value> operands;
  for (int64_t index : getDeciding()) {
    operands.push_back(getInputs()[index]);
  }
  return operands;
}

mlir::LogicalResult DeferredOp::inferTypes(Types& types) {
  if (getPlaces().size() != getInputs().size()) {
    return emitOpError() << "has " << getPlaces().size() << " places, expected one for each of "
                         << getInputs().size() << " operands";
  }
  for (int64_t index : getDeciding()) {
    if (index < 0 || index >= static_cast<int64_t>(getInputs().size())) {
      return emitOpError() << "deciding operand " << index << " is out of range";
    }
  }
  llvm::append_range(types, getResultTypes());
  return mlir::success();
}
OpCost DeferredOp::cost() { return {}; }

mlir::LogicalResult SequenceOp::inferTypes(Types& types) {
  mlir::Type type = getSequence().getType();
  if (!isSequence(type)) {
    return emitOpError() << "result is " << type << ", expected " << sequenceType(getContext())
                         << " or " << sequenceType(getContext(), /*optional=*/true);
  }
  if (type == sequenceType(getContext(), /*optional=*/true) && getElements().size() > 1) {
    return emitOpError() << "has " << getElements().size()
                         << " elements, expected at most 1 in an optional";
  }
  types.push_back(type);
  return mlir::success();
}
OpCost SequenceOp::cost() { return {}; }

mlir::LogicalResult EvaluatedOp::inferTypes(Types& types) {
  types.push_back(getValue().getShapedType());
  return mlir::success();
}
OpCost EvaluatedOp::cost() { return {}; }

mlir::LogicalResult IfOp::inferTypes(Types& types) {
  if (mlir::failed(requireOne(*this, getCondition(), "condition", 1))) {
    return mlir::failure();
  }
  // Regions that are still being built have no terminators yet.
  if (!getThen().front().mightHaveTerminator() || !getOtherwise().front().mightHaveTerminator()) {
    llvm::append_range(types, getResultTypes());
    return mlir::success();
  }
  auto yes = getThen().front().getTerminator()->getOperandTypes();
  auto no = getOtherwise().front().getTerminator()->getOperandTypes();
  if (yes.size() != no.size()) {
    return emitOpError() << "branches yield " << yes.size() << " and " << no.size()
                         << " values, expected as many";
  }
  for (auto [i, a, b] : llvm::enumerate(yes, no)) {
    types.push_back(joinTypes(a, b));
    if (!types.back()) {
      return emitOpError() << "branches yield " << a << " and " << b << " as value " << i
                           << ", expected one element type";
    }
  }
  return mlir::success();
}
OpCost IfOp::cost() { return {}; }

mlir::LogicalResult LoopOp::inferTypes(Types& types) {
  if (mlir::failed(requireOne(*this, getCondition(), "condition", 1)) ||
      mlir::failed(requireOne(*this, getIteration(), "iteration", 64)) ||
      (getBelow() && mlir::failed(requireOne(*this, getBelow(), "below", 1))) ||
      (getLimit() && mlir::failed(requireOne(*this, getLimit(), "limit", 64)))) {
    return mlir::failure();
  }
  if ((getBelow() == nullptr) != (getLimit() == nullptr)) {
    return emitOpError() << "has one of below and limit, expected both or none";
  }
  mlir::Block& body = getBody().front();
  if (!body.mightHaveTerminator()) {
    llvm::append_range(types, getResultTypes());
    return mlir::success();
  }
  auto yielded = body.getTerminator()->getOperandTypes();
  size_t carried = getCarried().size();
  if (body.getNumArguments() != carried + 2 || yielded.size() < carried + 1) {
    return emitOpError() << "carries " << carried << " values, but its body has "
                         << body.getNumArguments() << " arguments and yields " << yielded.size()
                         << " values, expected " << carried + 2 << " and at least " << carried + 1;
  }
  size_t scans = yielded.size() - carried - 1;
  for (auto values : {getCollected(), getFresh()}) {
    if (!values.empty() && values.size() != scans) {
      return emitOpError() << "has " << values.size() << " collected values, expected none or "
                           << scans;
    }
  }
  for (size_t i = 0; i < carried; ++i) {
    types.push_back(joinTypes(getCarried()[i].getType(), yielded[i + 1]));
    if (!types.back()) {
      return emitOpError() << "carried value " << i << " is " << getCarried()[i].getType()
                           << " before and " << yielded[i + 1]
                           << " after an iteration, expected one element type";
    }
  }
  for (size_t i = 0; i < scans; ++i) {
    types.push_back(collected(yielded[carried + 1 + i]));
  }
  return mlir::success();
}
OpCost LoopOp::cost() { return {}; }

mlir::LogicalResult GradientOp::inferTypes(Types& types) {
  auto loss = llvm::cast<mlir::TensorType>(getLoss().getType());
  mlir::Type unknown = placeholderType(getContext());
  bool hasElement = loss == unknown || isDifferentiable(loss);
  if (!hasElement || (loss.hasStaticShape() && loss.getNumElements() != 1)) {
    return emitOpError() << "loss is of type " << loss
                         << ", expected one element of a floating-point type"
                         << (hasElement ? "; reduce it by gr.reduce, as to its mean" : "");
  }
  for (auto [i, value] : llvm::enumerate(getWrt())) {
    if (value.getType() != unknown && !isDifferentiable(value.getType())) {
      return emitOpError() << "differentiates by value " << i << " of type " << value.getType()
                           << ", expected a floating-point type";
    }
    types.push_back(value.getType());
  }
  return mlir::success();
}
OpCost GradientOp::cost() { return {}; }

mlir::LogicalResult WatchOp::inferTypes(Types& types) {
  types.push_back(getInput().getType());
  return mlir::success();
}
OpCost WatchOp::cost() { return {}; }

}  // namespace graphrun::ir
