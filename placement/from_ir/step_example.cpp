#include "placement/from_ir/step_example.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/weights.h"

namespace graphrun::placement {
namespace {

/// The types of what a step reads.
llvm::SmallVector<mlir::Type> typesOf(mlir::Operation* op, const passes::CollectiveStep& step) {
  llvm::SmallVector<mlir::Type> types;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (step.joins) {
      types.push_back(passes::partType(op, static_cast<unsigned>(i)));
    } else if (step.cuts && passes::isCutAtSource(operand)) {
      types.push_back(passes::partType(op, step.member));
    } else {
      types.push_back(operand.getType());
    }
  }
  return types;
}

}  // namespace

StepExample::StepExample(mlir::Operation* collective, const passes::CollectiveStep& step)
    : module_(mlir::ModuleOp::create(collective->getLoc())) {
  mlir::Location loc = collective->getLoc();
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module_->getBody());
  auto type = builder.getFunctionType(typesOf(collective, step), {});
  mlir::Block* body = builder.create<mlir::func::FuncOp>(loc, "step", type).addEntryBlock();
  builder.setInsertionPointToEnd(body);
  passes::buildStep(builder, loc, collective, step, body->getArguments());
  for (mlir::Operation& op : *body) {
    if (!passes::isWeight(&op)) {
      ops_.push_back(&op);
    }
  }
}

}  // namespace graphrun::placement
