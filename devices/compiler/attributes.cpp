#include "devices/compiler/attributes.h"

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "passes/passes.h"
#include "passes/serialization/type_codec.h"
#include "runtime/base/status.h"

namespace graphrun::devices {
namespace {

std::optional<AttributeValue> convert(mlir::Attribute attribute) {
  using Result = std::optional<AttributeValue>;
  return llvm::TypeSwitch<mlir::Attribute, Result>(attribute)
      .Case([](mlir::BoolAttr value) { return AttributeValue(value.getValue()); })
      .Case([](mlir::IntegerAttr value) { return AttributeValue(value.getInt()); })
      .Case([](mlir::FloatAttr value) { return AttributeValue(value.getValueAsDouble()); })
      .Case([](mlir::StringAttr value) { return AttributeValue(value.str()); })
      .Case([](mlir::DenseI64ArrayAttr value) {
        return AttributeValue(std::vector<int64_t>(value.asArrayRef()));
      })
      .Case([](mlir::DenseF64ArrayAttr value) {
        return AttributeValue(std::vector<double>(value.asArrayRef()));
      })
      .Case([](mlir::ArrayAttr value) -> Result {
        std::vector<std::string> texts;
        for (auto text : value.getAsRange<mlir::StringAttr>()) {
          texts.push_back(text.str());
        }
        return AttributeValue(texts);
      })
      .Case([](mlir::TypeAttr value) {
        return AttributeValue(runtime::TensorSpec{passes::elementTypeOf(value.getValue()), {}});
      })
      .Default([](mlir::Attribute) { return std::nullopt; });
}

/// The scales of a resize, where they are constant: kernels then prepare for them once.
void addScales(mlir::Operation* op, Attributes& attributes) {
  auto resize = llvm::dyn_cast<ir::ResizeOp>(op);
  auto constant =
      resize && resize.getScales() ? resize.getScales().getDefiningOp<ir::ConstantOp>() : nullptr;
  auto dense = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !llvm::isa<mlir::FloatType>(dense.getElementType())) {
    return;
  }
  std::vector<double> scales;
  for (const llvm::APFloat& scale : dense.getValues<llvm::APFloat>()) {
    scales.push_back(scale.convertToDouble());
  }
  attributes["scales"] = std::move(scales);
}

}  // namespace

absl::StatusOr<Attributes> attributesOf(mlir::Operation* op) {
  Attributes attributes;
  for (mlir::NamedAttribute named : op->getAttrs()) {
    llvm::StringRef name = named.getName().strref();
    if (name.starts_with("gr.") || name == "operandSegmentSizes") {
      continue;
    }
    std::optional<AttributeValue> value = convert(named.getValue());
    if (!value) {
      return absl::UnimplementedError(absl::StrCat(labelOf(op), ": attribute ", name.str(),
                                                   " has a kind that kernels do not take"));
    }
    attributes[name.str()] = *value;
  }
  addScales(op, attributes);
  return attributes;
}

absl::StatusOr<std::vector<uint8_t>> denseBytes(mlir::ElementsAttr value) {
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    const mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
    if (blob == nullptr) {
      return absl::InternalError("a constant's data is gone");
    }
    llvm::ArrayRef<char> data = blob->getData();
    return std::vector<uint8_t>(data.begin(), data.end());
  }
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value);
  if (!dense) {
    return absl::UnimplementedError("a constant is neither dense nor a resource");
  }
  std::vector<uint8_t> bytes;
  if (dense.getElementType().isInteger(1)) {
    for (bool element : dense.getValues<bool>()) {
      bytes.push_back(element ? 1 : 0);
    }
    return bytes;
  }
  llvm::ArrayRef<char> raw = dense.getRawData();
  int64_t copies = dense.isSplat() ? dense.getNumElements() : 1;
  for (int64_t i = 0; i < copies; ++i) {
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  return bytes;
}

TensorDesc denseDesc(mlir::Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return {passes::elementTypeOf(type.getElementType()), type.getShape().vec()};
}

std::string labelOf(mlir::Operation* op) {
  std::string label = passes::labelOf(op->getLoc());
  return label.empty() ? op->getName().getStringRef().str() : label;
}

absl::Status annotateWith(mlir::Operation* op, const absl::Status& status) {
  return runtime::annotate(
      status, absl::StrCat(labelOf(op), " (", op->getName().getStringRef().str(), ")"));
}

}  // namespace graphrun::devices
