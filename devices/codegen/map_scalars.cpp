#include "devices/codegen/map_scalars.h"

#include <cmath>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/scalar_emitter.h"
#include "ir/dialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "passes/weights.h"

namespace graphrun::devices::codegen {
namespace {

bool isOfFloats(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(tensorOf(value).getElementType());
}

bool isPowerOfTwo(double number) {
  int exponent = 0;
  return std::abs(std::frexp(number, &exponent)) == 0.5;
}

/// LLVM makes other code where an operand of these is a known number.
bool dependsOnNumbers(mlir::Operation* op) {
  return llvm::isa<ir::PowOp, ir::ModOp, ir::ShiftLeftOp, ir::ShiftRightOp>(op) ||
         (llvm::isa<ir::DivOp>(op) && !isOfFloats(op->getResult(0)));
}

/// Returns the values of which `body` makes such operands: they themselves, and what is moved or
/// changed to become one.
llvm::DenseSet<mlir::Value> shapingValues(llvm::ArrayRef<mlir::Operation*> body) {
  llvm::DenseSet<mlir::Value> shaping;
  for (mlir::Operation* op : llvm::reverse(body)) {
    if (dependsOnNumbers(op)) {
      shaping.insert(op->operand_begin(), op->operand_end());
    } else if (op->getNumOperands() > 0 && shaping.contains(op->getResult(0)) &&
               (isMovement(op) || op->getNumOperands() == 1)) {
      shaping.insert(op->getOperand(0));
    }
  }
  return shaping;
}

}  // namespace

llvm::SmallVector<mlir::Operation*> mapBody(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  if (!group) {
    return {op};
  }
  return llvm::to_vector(llvm::make_pointer_range(group.getBody().front().without_terminator()));
}

std::optional<double> splatValue(mlir::Value value) {
  auto constant = passes::outsideGroup(value).getDefiningOp<ir::ConstantOp>();
  auto dense = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !dense.isSplat() || dense.getNumElements() == 0) {
    return std::nullopt;
  }
  if (llvm::isa<mlir::FloatType>(dense.getElementType())) {
    llvm::APFloat number = dense.getSplatValue<llvm::APFloat>();
    bool exact = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
    return number.convertToDouble();
  }
  llvm::APInt number = dense.getSplatValue<llvm::APInt>();
  bool exact = number.abs().getActiveBits() <= 53;  // else a double would round it
  return exact ? std::optional<double>(number.getBitWidth() == 1
                                           ? static_cast<double>(number.getZExtValue())
                                           : static_cast<double>(number.getSExtValue()))
               : std::nullopt;
}

llvm::SmallVector<mlir::Value> mapScalars(mlir::Operation* op) {
  llvm::SmallVector<mlir::Operation*> body = mapBody(op);
  llvm::DenseSet<mlir::Value> shaping = shapingValues(body);
  llvm::SmallSetVector<mlir::Value, 8> scalars;
  for (mlir::Operation* inner : body) {
    if (llvm::isa<ir::ConstantOp>(inner)) {
      continue;
    }
    for (mlir::OpOperand& operand : inner->getOpOperands()) {
      bool isRead = !isMovement(inner) || operand.getOperandNumber() == 0;
      std::optional<double> number = isRead ? splatValue(operand.get()) : std::nullopt;
      if (!number || *number == 0 || std::abs(*number) == 1 || shaping.contains(operand.get()) ||
          tensorOf(operand.get()).getElementType().isInteger(1)) {
        continue;
      }
      // A division by a power of two is a multiplication.
      if (llvm::isa<ir::DivOp>(inner) && operand.getOperandNumber() == 1 && isPowerOfTwo(*number)) {
        shaping.insert(operand.get());
        scalars.remove(operand.get());
        continue;
      }
      scalars.insert(operand.get());
    }
  }
  return scalars.takeVector();
}

int64_t scalarBits(mlir::Value scalar) {
  double number = *splatValue(scalar);
  auto type = llvm::dyn_cast<mlir::FloatType>(computeType(tensorOf(scalar).getElementType()));
  return type ? mlir::FloatAttr::get(type, number).getValue().bitcastToAPInt().getSExtValue()
              : static_cast<int64_t>(number);
}

mlir::Value emitScalarOf(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value bits,
                         mlir::Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width < 64) {
    bits = builder.create<mlir::arith::TruncIOp>(loc, builder.getIntegerType(width), bits);
  }
  return llvm::isa<mlir::FloatType>(type)
             ? builder.create<mlir::arith::BitcastOp>(loc, type, bits).getResult()
             : bits;
}

}  // namespace graphrun::devices::codegen
