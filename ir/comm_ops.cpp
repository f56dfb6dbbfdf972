// Types and costs of groups and edges.
#include "ir/infer.h"

namespace graphrun::ir {

mlir::LogicalResult GroupOp::inferTypes(Types& types) {
  llvm::StringRef kind = getKind();
  if (kind != "conv" && kind != "matmul" && kind != "attention" && kind != "map") {
    return emitOpError() << "has kind \"" << kind << "\", expected conv, matmul, attention or map";
  }
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
  if (!llvm::isa<mlir::TensorType>(getTensorType())) {
    return emitOpError() << "type is " << getTensorType() << ", expected a tensor type";
  }
  types.push_back(getTensorType());
  return mlir::success();
}
OpCost RecvOp::cost() { return elementwiseCost(*this, 0); }

}  // namespace graphrun::ir
