#include "ir/cost.h"

#include "ir/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/BuiltinTypes.h"

namespace graphrun::ir {

int64_t byteSize(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) {
    return 0;
  }
  int64_t bits = isStrings(type) ? 64 : elementBits(tensor.getElementType());
  return tensor.getNumElements() * std::max<int64_t>(bits / 8, 1);
}

bool hasStaticShapes(mlir::Operation* op) {
  auto isStatic = [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

OpCost elementwiseCost(mlir::Operation* op, int64_t flopsPerElement) {
  OpCost cost;
  if (!hasStaticShapes(op)) {
    return cost;
  }
  for (mlir::Type type : op->getOperandTypes()) {
    cost.bytesRead += byteSize(type);
  }
  for (mlir::Type type : op->getResultTypes()) {
    cost.bytesWritten += byteSize(type);
    cost.flops += flopsPerElement * llvm::cast<mlir::RankedTensorType>(type).getNumElements();
  }
  return cost;
}

}  // namespace graphrun::ir
