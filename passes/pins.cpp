#include "passes/pins.h"

#include "ir/dialect.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"

namespace graphrun::passes {
namespace {

constexpr llvm::StringLiteral kDevice = "device";
constexpr llvm::StringLiteral kPinSource = "source";
/// More operations than any form is made of.
constexpr size_t kMaxPinParts = 256;

llvm::StringRef textOf(mlir::DictionaryAttr pin, llvm::StringRef key) {
  auto text = pin.getAs<mlir::StringAttr>(key);
  return text ? text.getValue() : llvm::StringRef();
}

}  // namespace

Pin pinOf(mlir::Operation* op) {
  auto pin = op->getAttrOfType<mlir::DictionaryAttr>(kPinAttr);
  return pin ? Pin{textOf(pin, kDevice), textOf(pin, kPinSource)} : Pin();
}

void setPin(mlir::Operation* op, Pin pin) {
  if (!pin) {
    op->removeAttr(kPinAttr);
    return;
  }
  mlir::Builder builder(op->getContext());
  op->setAttr(kPinAttr, builder.getDictionaryAttr(
                            {builder.getNamedAttr(kDevice, builder.getStringAttr(pin.device)),
                             builder.getNamedAttr(kPinSource, builder.getStringAttr(pin.source))}));
}

bool mayBecomeOne(mlir::Operation* result, mlir::ValueRange inputs) {
  llvm::SetVector<mlir::Operation*> parts;
  parts.insert(result);
  CommonPin common;
  llvm::SmallVector<DeviceHint> hints;
  for (size_t i = 0; i < parts.size(); ++i) {
    llvm::SmallVector<DeviceHint> own = deviceHintsOf(parts[i]->getLoc());
    if (!common.allows(parts[i]) || (!own.empty() && !hints.empty() && own != hints)) {
      return false;
    }
    common.add(parts[i]);
    hints = hints.empty() ? std::move(own) : std::move(hints);
    for (mlir::Value operand : parts[i]->getOperands()) {
      bool isInput = llvm::is_contained(inputs, operand);
      mlir::Operation* source = isInput ? nullptr : operand.getDefiningOp();
      if (source != nullptr && !llvm::isa<ir::ConstantOp>(source)) {
        parts.insert(source);
      }
    }
    if (parts.size() > kMaxPinParts) {
      return false;
    }
  }
  return true;
}

}  // namespace graphrun::passes
