#include "passes/wishes.h"

#include "mlir/IR/Builders.h"
#include "passes/passes.h"

namespace graphrun::passes {
namespace {

/// The first list of wishes in `loc`.
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

llvm::SmallVector<Wish> wishesOf(mlir::Location loc) {
  llvm::SmallVector<Wish> wishes;
  mlir::ArrayAttr list = listIn(loc);
  for (mlir::Attribute item : list ? list.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto texts = llvm::dyn_cast<mlir::ArrayAttr>(item);
    if (texts && texts.size() == 3) {
      wishes.push_back({textOf(texts[0]), textOf(texts[1]), textOf(texts[2])});
    }
  }
  return wishes;
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

mlir::Location withoutWishes(mlir::Location loc) {
  std::string label = labelOf(loc);
  return label.empty() ? mlir::Location(mlir::UnknownLoc::get(loc.getContext()))
                       : mlir::NameLoc::get(mlir::StringAttr::get(loc.getContext(), label));
}

}  // namespace graphrun::passes
