// Types and costs of groups and edges.
#include "ir/infer.h"

namespace graphrun::ir {

mlir::LogicalResult GroupOp::inferTypes(Types& types) {
  mlir::Block& block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes()) {
    return emitOpError() << "region arguments do not have the types of the operands";
  }
  // A group that is still being built has no terminator yet.
  if (!block.mightHaveTerminator()) {
    llvm::append_range(types, getResultTypes());
    return mlir::success();
  }
  llvm::append_range(types, block.getTerminator()->getOperandTypes());
  return mlir::success();
}

OpCost GroupOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  for (mlir::Operation& op : getBody().front()) {
    if (auto inner = llvm::dyn_cast<GrOpInterface>(op)) {
      cost.flops += inner.cost().flops;
    }
  }
  return cost;
}

namespace {

/// Appends the type that `op` names for its result; fails unless it is a tensor's.
mlir::LogicalResult pushNamedType(mlir::Operation* op, mlir::Type type, Types& types) {
  if (!llvm::isa<mlir::TensorType>(type)) {
    return op->emitOpError() << "type is " << type << ", expected a tensor type";
  }
  types.push_back(type);
  return mlir::success();
}

}  // namespace

mlir::LogicalResult YieldOp::inferTypes(Types&) { return mlir::success(); }
OpCost YieldOp::cost() { return {}; }

mlir::LogicalResult SendOp::inferTypes(Types&) {
  if (getEdge() < 0) {
    return emitOpError() << "edge is " << getEdge() << ", expected at least 0";
  }
  return mlir::success();
}
OpCost SendOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult RecvOp::inferTypes(Types& types) {
  if (getEdge() < 0) {
    return emitOpError() << "edge is " << getEdge() << ", expected at least 0";
  }
  return pushNamedType(*this, getTensorType(), types);
}
OpCost RecvOp::cost() { return elementwiseCost(*this, 0); }

namespace {

/// Fails unless a collective has operands, of one type.
mlir::LogicalResult requireMembers(mlir::Operation* op) {
  if (op->getNumOperands() == 0) {
    return op->emitOpError() << "has no operand, expected one a member";
  }
  for (mlir::Value operand : op->getOperands()) {
    if (operand.getType() != op->getOperand(0).getType()) {
      return op->emitOpError() << "operands have types " << op->getOperand(0).getType() << " and "
                               << operand.getType() << ", expected one type";
    }
  }
  return mlir::success();
}

/// Fails where a mean divides by a number that its type does not have.
mlir::LogicalResult requireDivisor(mlir::Operation* op, ReduceKind kind) {
  auto type = llvm::dyn_cast<mlir::IntegerType>(elementOf(op->getOperand(0)));
  if (kind != ReduceKind::kMean || !type || type.getWidth() > 16) {
    return mlir::success();
  }
  unsigned most = (1U << (type.getWidth() - (type.isUnsigned() ? 0 : 1))) - 1;
  if (op->getNumOperands() > most) {
    return op->emitOpError() << "has " << op->getNumOperands() << " operands, expected at most "
                             << most << " for a mean of " << mlir::Type(type)
                             << "; cast them first";
  }
  return mlir::success();
}

/// The same where members combine elements.
mlir::LogicalResult requireCombined(mlir::Operation* op, ReduceKind kind) {
  if (mlir::failed(requireMembers(op))) {
    return mlir::failure();
  }
  if (elementOf(op->getOperand(0)).isInteger(1)) {
    return op->emitOpError() << "operands are bools, expected numbers; cast them first";
  }
  return mlir::failure(mlir::failed(requireComputed(op, op->getOperand(0), "operand")) ||
                       mlir::failed(requireDivisor(op, kind)));
}

/// Returns the cost of combining all operands once: one operation per element for each member but
/// the first.
OpCost combineCost(mlir::Operation* op) {
  OpCost cost = elementwiseCost(op, 0);
  if (hasStaticShapes(op)) {
    auto type = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
    cost.flops = (static_cast<int64_t>(op->getNumOperands()) - 1) * type.getNumElements();
  }
  return cost;
}

}  // namespace

mlir::LogicalResult AllReduceOp::inferTypes(Types& types) {
  if (mlir::failed(requireCombined(*this, getKind()))) {
    return mlir::failure();
  }
  types.append(getNumOperands(), getInputs()[0].getType());
  return mlir::success();
}
OpCost AllReduceOp::cost() { return combineCost(*this); }

mlir::LogicalResult AllGatherOp::inferTypes(Types& types) {
  if (mlir::failed(requireMembers(*this))) {
    return mlir::failure();
  }
  std::optional<Dims> dims = dimsOf(getInputs()[0]);
  if (dims) {
    if (mlir::failed(requireAxes(*this, {getAxis()}, static_cast<int64_t>(dims->size())))) {
      return mlir::failure();
    }
    Dim& dim = (*dims)[static_cast<size_t>(getAxis())];
    dim = dim * static_cast<int64_t>(getNumOperands());
  }
  for (size_t i = 0; i < getNumOperands(); ++i) {
    static_cast<void>(push(types, dims, elementOf(getInputs()[0])));
  }
  return mlir::success();
}
OpCost AllGatherOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult ReduceScatterOp::inferTypes(Types& types) {
  if (mlir::failed(requireCombined(*this, getKind()))) {
    return mlir::failure();
  }
  auto members = static_cast<int64_t>(getNumOperands());
  std::optional<Dims> dims = dimsOf(getInputs()[0]);
  if (dims) {
    if (mlir::failed(requireAxes(*this, {getAxis()}, static_cast<int64_t>(dims->size())))) {
      return mlir::failure();
    }
    Dim& dim = (*dims)[static_cast<size_t>(getAxis())];
    if (dim.isStatic() && dim.value() % members != 0) {
      return emitOpError() << "dim " << getAxis() << " is " << dim.value()
                           << ", expected a multiple of " << members << ", the number of members";
    }
    dim = dim.floorDiv(members);
  }
  for (int64_t i = 0; i < members; ++i) {
    static_cast<void>(push(types, dims, elementOf(getInputs()[0])));
  }
  return mlir::success();
}
OpCost ReduceScatterOp::cost() { return combineCost(*this); }

mlir::LogicalResult CollectiveMemberOp::inferTypes(Types& types) {
  if (getCommunicator() < 0) {
    return emitOpError() << "communicator is " << getCommunicator() << ", expected at least 0";
  }
  return pushNamedType(*this, getTensorType(), types);
}
OpCost CollectiveMemberOp::cost() { return elementwiseCost(*this, 0); }

}  // namespace graphrun::ir
