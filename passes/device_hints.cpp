#include "passes/device_hints.h"

#include "mlir/IR/Builders.h"
#include "passes/passes.h"

namespace graphrun::passes {
namespace {

/// The first list of hints in `loc`.
mlir::ArrayAttr listIn(mlir::Location loc) {
  auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (!fused) {
    return nullptr;
  }
  if (auto list = llvm::dyn_cast_or_null<mlir::ArrayAttr>(fused.getMetadata())) {
    return list;
  }
  for (mlir::Location part : fused.getLocations()) {
    if (mlir::ArrayAttr list = listIn(part)) {
      return list;
    }
  }
  return nullptr;
}

llvm::StringRef textOf(mlir::Attribute attribute) {
  auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(attribute);
  return text ? text.getValue() : llvm::StringRef();
}

}  // namespace

llvm::SmallVector<DeviceHint> deviceHintsOf(mlir::Location loc) {
  llvm::SmallVector<DeviceHint> hints;
  mlir::ArrayAttr list = listIn(loc);
  for (mlir::Attribute item : list ? list.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto texts = llvm::dyn_cast<mlir::ArrayAttr>(item);
    if (texts && texts.size() == 3) {
      hints.push_back({textOf(texts[0]), textOf(texts[1]), textOf(texts[2])});
    }
  }
  return hints;
}

mlir::Location withDeviceHints(mlir::Location loc, llvm::ArrayRef<DeviceHint> hints) {
  if (hints.empty()) {
    return loc;
  }
  mlir::Builder builder(loc.getContext());
  llvm::SmallVector<mlir::Attribute> list;
  for (const DeviceHint& hint : hints) {
    list.push_back(builder.getStrArrayAttr({hint.configuration, hint.name, hint.problem}));
  }
  return mlir::FusedLoc::get(loc.getContext(), loc, builder.getArrayAttr(list));
}

mlir::Location withoutWishes(mlir::Location loc) {
  std::string label = labelOf(loc);
  return label.empty() ? mlir::Location(mlir::UnknownLoc::get(loc.getContext()))
                       : mlir::NameLoc::get(mlir::StringAttr::get(loc.getContext(), label));
}

}  // namespace graphrun::passes
