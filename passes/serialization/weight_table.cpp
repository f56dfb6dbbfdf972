// The constants of exported graphs.
#include "absl/strings/str_cat.h"
#include "passes/serialization/model_io.h"
#include "passes/serialization/type_codec.h"

namespace graphrun::passes {

std::string WeightTable::uniqueName(llvm::StringRef label) {
  std::string base = label.empty() ? absl::StrCat("weight_", entries_.size()) : label.str();
  std::string name = base;
  while (!names_.try_emplace(name, 0).second) {
    name = absl::StrCat(base, "_", ++names_[base]);
  }
  return name;
}

ElementBytes WeightTable::numbersOf(mlir::DenseStringElementsAttr value) {
  ElementBytes result;
  result.splat = value.isSplat();
  result.owned = std::make_shared<std::vector<char>>();
  for (llvm::StringRef text : value.getRawStringData()) {
    auto [entry, isNew] = stringNumbers_.try_emplace(text, strings_.size());
    if (isNew) {
      strings_.push_back(text.str());
    }
    const auto* number = reinterpret_cast<const char*>(&entry->second);
    result.owned->insert(result.owned->end(), number, number + sizeof(entry->second));
  }
  result.bytes = *result.owned;
  return result;
}

absl::StatusOr<uint32_t> WeightTable::add(mlir::ElementsAttr value, llvm::StringRef label) {
  if (auto found = indices_.find(value); found != indices_.end()) {
    return found->second;
  }
  Entry entry;
  entry.spec.type = elementTypeOf(value.getElementType());
  llvm::ArrayRef<int64_t> shape = value.getShapedType().getShape();
  entry.spec.dims.assign(shape.begin(), shape.end());
  std::optional<ElementBytes> raw =
      llvm::isa<mlir::DenseStringElementsAttr>(value)
          ? numbersOf(llvm::cast<mlir::DenseStringElementsAttr>(value))
          : bytesOf(value);
  if (entry.spec.type == runtime::ElementType::kInvalid || !raw) {
    return absl::InvalidArgumentError(absl::StrCat(
        "constant '", label.str(), "' has ",
        raw ? "an element type that files do not have" : "no data of its type's size"));
  }
  entry.splat = raw->splat && value.getNumElements() > 1;
  entry.data = {reinterpret_cast<const uint8_t*>(raw->bytes.data()), raw->bytes.size()};
  entry.owned = raw->owned;
  entry.name = uniqueName(label);
  auto index = static_cast<uint32_t>(entries_.size());
  entries_.push_back(std::move(entry));
  indices_[value] = index;
  return index;
}

}  // namespace graphrun::passes
