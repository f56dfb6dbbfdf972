// gr-infer-shapes: the most precise types that follow from the inputs.
#include "ir/dialect.h"
#include "ir/dims.h"
#include "passes/passes.h"
#include "passes/shapes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_INFERSHAPES
#include "passes/passes.h.inc"

namespace {

ir::Dim refineDim(const ir::Dim& declared, const ir::Dim& inferred) {
  if (inferred.isStatic() || (!declared.isStatic() && !inferred.isUnknown())) {
    return inferred;
  }
  return declared;
}

mlir::LogicalResult inferBlock(mlir::Block& block);

mlir::LogicalResult inferGroup(ir::GroupOp group) {
  mlir::Block& body = group.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), group.getInputs())) {
    argument.setType(input.getType());
  }
  return inferBlock(body);
}

}  // namespace

mlir::LogicalResult inferTypes(ir::GrOpInterface op) {
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op.getOperation())) {
    if (mlir::failed(inferGroup(group))) {
      return mlir::failure();
    }
  }
  llvm::SmallVector<mlir::Type> types;
  if (mlir::failed(op.inferTypes(types))) {
    return mlir::failure();
  }
  for (auto [i, type] : llvm::enumerate(types)) {
    mlir::OpResult result = op->getResult(i);
    mlir::Type refined = refineType(result.getType(), type);
    if (!refined) {
      return op->emitOpError() << "result " << i << " is declared as " << result.getType()
                               << ", but its operands give " << type;
    }
    result.setType(refined);
  }
  return mlir::success();
}

namespace {

mlir::LogicalResult inferBlock(mlir::Block& block) {
  for (mlir::Operation& op : block) {
    auto typed = llvm::dyn_cast<ir::GrOpInterface>(op);
    if (typed && mlir::failed(inferTypes(typed))) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

struct InferShapesPass : impl::InferShapesBase<InferShapesPass> {
  void runOnOperation() override {
    if (mlir::failed(inferShapes(getOperation()))) {
      signalPassFailure();
    }
  }
};

}  // namespace

mlir::Type refineType(mlir::Type declared, mlir::Type inferred) {
  mlir::Type unknown = ir::placeholderType(declared.getContext());
  if (declared == unknown || inferred == unknown) {
    return declared == unknown ? inferred : declared;
  }
  if (ir::isSequence(declared) && ir::isSequence(inferred)) {
    return declared;
  }
  auto a = llvm::cast<mlir::TensorType>(declared);
  auto b = llvm::cast<mlir::TensorType>(inferred);
  if (a.getElementType() != b.getElementType()) {
    return nullptr;
  }
  std::optional<ir::Dims> from = ir::dimsOf(declared);
  std::optional<ir::Dims> to = ir::dimsOf(inferred);
  if (!from || !to) {
    return to ? inferred : declared;
  }
  if (mlir::failed(mlir::verifyCompatibleShape(declared, inferred))) {
    return nullptr;
  }
  ir::Dims dims;
  for (auto [x, y] : llvm::zip(*from, *to)) {
    dims.push_back(refineDim(x, y));
  }
  return ir::tensorType(dims, b.getElementType());
}

mlir::LogicalResult inferShapes(mlir::func::FuncOp func) {
  if (func.isExternal()) {
    return mlir::success();
  }
  mlir::Block& body = func.getBody().front();
  if (mlir::failed(inferBlock(body))) {
    return mlir::failure();
  }
  func.setType(mlir::FunctionType::get(func.getContext(), body.getArgumentTypes(),
                                       body.getTerminator()->getOperandTypes()));
  return mlir::success();
}

}  // namespace graphrun::passes
