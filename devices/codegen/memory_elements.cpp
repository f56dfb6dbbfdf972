#include "devices/codegen/memory_elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::codegen {
namespace {

/// `element` in the shape of `like`'s type.
mlir::Type inShapeOf(mlir::Value like, mlir::Type element) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(like.getType());
  return vector ? mlir::Type(vector.clone(element)) : element;
}

}  // namespace

mlir::Type memoryType(mlir::Type element) {
  auto integer = [&](unsigned bits) { return mlir::IntegerType::get(element.getContext(), bits); };
  return element.isInteger(1)                    ? integer(8)
         : llvm::isa<mlir::IntegerType>(element) ? integer(element.getIntOrFloatBitWidth())
                                                 : element;
}

mlir::Type laneType(mlir::Type element, int64_t lanes) {
  return lanes == 1 ? element : mlir::VectorType::get({lanes}, element);
}

mlir::Value fromMemory(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                       mlir::Type compute) {
  mlir::Type type = inShapeOf(value, compute);
  if (value.getType() == type) {
    return value;
  }
  return compute.isInteger(1) ? builder.create<mlir::arith::TruncIOp>(loc, type, value).getResult()
                              : builder.create<mlir::arith::ExtFOp>(loc, type, value).getResult();
}

mlir::Value toMemory(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                     mlir::Type memory) {
  mlir::Type type = inShapeOf(value, memory);
  if (value.getType() == type) {
    return value;
  }
  bool isBool = mlir::getElementTypeOrSelf(value).isInteger(1);
  return isBool ? builder.create<mlir::arith::ExtUIOp>(loc, type, value).getResult()
                : builder.create<mlir::arith::TruncFOp>(loc, type, value).getResult();
}

}  // namespace graphrun::devices::codegen
