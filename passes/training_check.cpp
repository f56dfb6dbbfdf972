#include "passes/training_check.h"

#include "ir/builders.h"
#include "ir/gradients/builder.h"
#include "ir/gradients/watch.h"
#include "passes/expand_gradients.h"
#include "passes/states.h"

namespace graphrun::passes {
namespace {

/// The sum of all elements of the floating-point results; null when there are none.
mlir::Value sumOfResults(mlir::OpBuilder& builder, mlir::Operation* end) {
  mlir::Location loc = end->getLoc();
  auto make = [&](llvm::StringRef name, mlir::ValueRange operands,
                  llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return (*ir::createOp(builder, loc, name, operands, attributes))->getResult(0);
  };
  mlir::Value sum;
  for (mlir::Value result : end->getOperands()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType());
    if (!type || !ir::isDifferentiable(type)) {
      continue;
    }
    llvm::SmallVector<int64_t> axes = ir::axesFrom(0, type.getRank());
    mlir::Value part = make("gr.reduce", result,
                            {builder.getNamedAttr("kind", builder.getStringAttr("sum")),
                             builder.getNamedAttr("axes", builder.getDenseI64ArrayAttr(axes)),
                             builder.getNamedAttr("keepdims", builder.getBoolAttr(false))});
    part = make("gr.cast", part,
                {builder.getNamedAttr("to", mlir::TypeAttr::get(builder.getF32Type()))});
    sum = sum ? make("gr.add", {sum, part}) : part;
  }
  return sum;
}

}  // namespace

mlir::LogicalResult differentiateResults(mlir::func::FuncOp func, mlir::ValueRange values) {
  mlir::Operation* end = func.getBody().front().getTerminator();
  mlir::OpBuilder builder(end);
  mlir::Value loss = sumOfResults(builder, end);
  if (!loss) {
    return func.emitError()
           << "has no floating-point output of a shape that is known, expected one: "
              "there is nothing to differentiate";
  }
  llvm::SmallVector<mlir::Value> operands = {loss};
  for (mlir::Value value : values) {
    operands.push_back(ir::watch(value));
  }
  mlir::FailureOr<mlir::Operation*> gradient =
      ir::createOp(builder, end->getLoc(), "gr.gradient", operands, {}, values.size());
  if (mlir::failed(gradient)) {
    return mlir::failure();
  }
  end->setOperands((*gradient)->getResults());
  return expandGradients(func);
}

mlir::FailureOr<size_t> differentiateByParameters(mlir::func::FuncOp func) {
  llvm::SmallVector<mlir::Value> parameters = parameterConstants(func);
  if (parameters.empty()) {
    return func.emitError() << "has 0 floating-point parameters, expected at least 1: there is "
                               "nothing to train";
  }
  return mlir::failed(differentiateResults(func, parameters))
             ? mlir::FailureOr<size_t>(mlir::failure())
             : parameters.size();
}

}  // namespace graphrun::passes
