#include "passes/wishes.h"

#include "mlir/IR/Builders.h"
#include "passes/passes.h"

namespace graphrun::passes {
namespace {

constexpr llvm::StringLiteral kPin = "gr.pin";
constexpr llvm::StringLiteral kSource = "gr.source";

/// The first metadata of kind `Attribute` in `loc`.
template <typename Attribute>
Attribute metadataOf(mlir::Location loc) {
  auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (!fused) {
    return nullptr;
  }
  if (auto metadata = llvm::dyn_cast_or_null<Attribute>(fused.getMetadata())) {
    return metadata;
  }
  for (mlir::Location part : fused.getLocations()) {
    if (Attribute metadata = metadataOf<Attribute>(part)) {
      return metadata;
    }
  }
  return nullptr;
}

llvm::StringRef textOf(mlir::Attribute attribute) {
  auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(attribute);
  return text ? text.getValue() : llvm::StringRef();
}

}  // namespace

llvm::SmallVector<Wish> wishesOf(mlir::Location loc) {
  llvm::SmallVector<Wish> wishes;
  auto list = metadataOf<mlir::ArrayAttr>(loc);
  for (mlir::Attribute item : list ? list.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto texts = llvm::dyn_cast<mlir::ArrayAttr>(item);
    if (texts && texts.size() == 3) {
      wishes.push_back({textOf(texts[0]), textOf(texts[1]), textOf(texts[2])});
    }
  }
  return wishes;
}

Pin pinOf(mlir::Location loc) {
  auto pin = metadataOf<mlir::DictionaryAttr>(loc);
  return pin ? Pin{textOf(pin.get(kPin)), textOf(pin.get(kSource))} : Pin();
}

mlir::Location withWishes(mlir::Location loc, llvm::ArrayRef<Wish> wishes) {
  if (wishes.empty()) {
    return loc;
  }
  mlir::Builder builder(loc.getContext());
  llvm::SmallVector<mlir::Attribute> list;
  for (const Wish& wish : wishes) {
    list.push_back(builder.getStrArrayAttr({wish.configuration, wish.name, wish.problem}));
  }
  return mlir::FusedLoc::get(loc.getContext(), loc, builder.getArrayAttr(list));
}

mlir::Location withPin(mlir::Location loc, Pin pin) {
  mlir::Builder builder(loc.getContext());
  std::string label = labelOf(loc);
  mlir::Location name = builder.getUnknownLoc();
  if (!label.empty()) {
    name = mlir::NameLoc::get(builder.getStringAttr(label));
  }
  if (!pin) {
    return name;
  }
  mlir::NamedAttribute entries[] = {
      builder.getNamedAttr(kPin, builder.getStringAttr(pin.device)),
      builder.getNamedAttr(kSource, builder.getStringAttr(pin.source))};
  return mlir::FusedLoc::get(loc.getContext(), name, builder.getDictionaryAttr(entries));
}

}  // namespace graphrun::passes
