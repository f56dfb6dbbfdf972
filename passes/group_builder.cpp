#include "passes/group_builder.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

/// A label names at most so many members.
constexpr size_t kMaxNamedMembers = 8;

bool isAnchor(mlir::Operation* op) {
  return llvm::isa<ir::ConvOp, ir::ConvTransposeOp, ir::MatMulOp>(op);
}

/// "conv1+relu1", shortened where there are many.
mlir::Location groupLocation(const GroupPlan& plan) {
  llvm::SmallVector<std::string> labels;
  for (mlir::Operation* op : plan.members) {
    std::string label = labelOf(op->getLoc());
    if (!label.empty() && !llvm::is_contained(labels, label)) {
      labels.push_back(label);
    }
  }
  if (labels.empty()) {
    return plan.root()->getLoc();
  }
  std::string text = labels.size() > kMaxNamedMembers
                         ? labels.front() + "+…+" + labels.back() + " (" +
                               std::to_string(plan.members.size()) + " operations)"
                         : llvm::join(labels, "+");
  return mlir::NameLoc::get(mlir::StringAttr::get(plan.root()->getContext(), text));
}

struct Operands {
  llvm::SetVector<mlir::Value> inputs;
  llvm::SetVector<mlir::Operation*> constants;
};

/// Returns where each value comes from that the members use and do not make.
Operands operandsOf(const GroupPlan& plan) {
  llvm::SmallPtrSet<mlir::Operation*, 8> members(plan.members.begin(), plan.members.end());
  Operands operands;
  for (mlir::Operation* op : plan.members) {
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      mlir::Operation* source = operand.get().getDefiningOp();
      if (source != nullptr && members.contains(source)) {
        continue;
      }
      if (movesInside(operand) && !operands.inputs.contains(operand.get())) {
        operands.constants.insert(source);
      } else if (!operands.constants.contains(source)) {
        operands.inputs.insert(operand.get());
      }
    }
  }
  return operands;
}

}  // namespace

bool movesInside(mlir::OpOperand& operand) {
  mlir::ElementsAttr constant = constantOf(operand.get());
  if (!constant || isAnchor(operand.getOwner())) {
    return false;
  }
  return constant.isSplat() || constant.getNumElements() == 1 ||
         (constant.getElementType().isInteger() && constant.getNumElements() <= kMaxInlineElements);
}

ir::GroupOp buildGroup(const GroupPlan& plan) {
  mlir::Operation* root = plan.root();
  Operands operands = operandsOf(plan);
  mlir::OpBuilder builder(root);
  auto inputs = operands.inputs.takeVector();
  auto group =
      builder.create<ir::GroupOp>(groupLocation(plan), root->getResultTypes(), inputs, plan.kind);
  mlir::Block& body = group.getBody().emplaceBlock();
  mlir::IRMapping mapping;
  for (mlir::Value input : inputs) {
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  }
  builder.setInsertionPointToEnd(&body);
  for (mlir::Operation* op : operands.constants) {
    builder.clone(*op, mapping);
  }
  CommonPin common;
  for (mlir::Operation* op : plan.members) {
    common.add(op);
    setPin(builder.clone(*op, mapping), {});
  }
  setPin(group, common.pin());
  builder.create<ir::YieldOp>(group.getLoc(), mapping.lookup(root->getResult(0)));
  root->replaceAllUsesWith(group);
  for (mlir::Operation* op : llvm::reverse(plan.members)) {
    op->erase();
  }
  for (mlir::Operation* op : operands.constants) {
    if (op->use_empty()) {
      op->erase();
    }
  }
  return group;
}

}  // namespace graphrun::passes
