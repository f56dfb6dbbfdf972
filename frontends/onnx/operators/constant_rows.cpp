#include "frontends/onnx/operators/constant_rows.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/tensors.h"
#include "ir/dialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace graphrun::frontends {
namespace {

/// The bytes of a constant's elements: of one element for a splat. Nothing for other values.
std::optional<llvm::ArrayRef<char>> bytesOf(mlir::Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  if (!constant) {
    return std::nullopt;
  }
  if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue())) {
    return dense.getRawData();
  }
  auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(constant.getValue());
  mlir::AsmResourceBlob* blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob != nullptr ? std::optional(blob->getData()) : std::nullopt;
}

/// The rows where nothing is known of the elements.
mlir::Value sliceRows(Node& node, mlir::Value value, int64_t index, int64_t size,
                      llvm::ArrayRef<int64_t> blocks) {
  mlir::Value entry = node.emit(
      "gr.gather", {value, node.scalarLike(node.constant({0}), static_cast<double>(index))},
      {node.integer("axis", 0)});
  Values parts;
  for (int64_t block : blocks) {
    parts.push_back(node.emit(
        "gr.slice", {entry, node.constant({block * size}), node.constant({(block + 1) * size}),
                     node.constant({0}), node.constant({1})}));
  }
  return node.emit("gr.concat", parts, {node.integer("axis", 0)});
}

}  // namespace

mlir::ElementsAttr makeElements(Node& node, mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes) {
  if (type.getNumElements() <= kMaxDenseElements) {
    return mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
  }
  return mlir::DenseResourceElementsAttr::get(
      type, node.outputName(0),
      mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, /*align=*/64));
}

mlir::Value rowsOf(Node& node, mlir::Value value, llvm::StringRef what, int64_t index, int64_t size,
                   int64_t count, llvm::ArrayRef<int64_t> blocks) {
  if (!value) {
    return nullptr;
  }
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  if (type.getRank() < 2 || type.getDimSize(1) != count * size) {
    return node.fail(absl::StrCat(what.str(), " has ", type.getRank() < 2 ? 0 : type.getDimSize(1),
                                  " rows, expected ", count, " times ", size));
  }
  if (type.getDimSize(0) == 1 && llvm::equal(blocks, llvm::seq<int64_t>(0, count))) {
    return node.emit("gr.squeeze", {value}, {node.integers("axes", {0})});
  }
  llvm::SmallVector<int64_t> dims(type.getShape().drop_front());
  dims[0] = static_cast<int64_t>(blocks.size()) * size;
  auto result = mlir::RankedTensorType::get(dims, type.getElementType());
  std::optional<llvm::ArrayRef<char>> bytes = bytesOf(value);
  if (!bytes || !type.getElementType().isIntOrFloat() || type.getElementTypeBitWidth() % 8 != 0 ||
      result.getNumElements() == 0) {
    return sliceRows(node, value, index, size, blocks);
  }
  size_t width = type.getElementTypeBitWidth() / 8;
  if (bytes->size() == width && type.getNumElements() > 1) {  // a splat
    auto splat = mlir::DenseElementsAttr::getFromRawBuffer(result, *bytes);
    return node.emit("gr.constant", {}, {node.named("value", splat)});
  }
  size_t row = width * static_cast<size_t>(std::accumulate(dims.begin() + 1, dims.end(), int64_t{1},
                                                           std::multiplies<>()));
  size_t block = row * static_cast<size_t>(size);
  std::vector<char> picked;
  picked.reserve(block * blocks.size());
  for (int64_t which : blocks) {
    const char* from = bytes->data() + static_cast<size_t>(index * count + which) * block;
    picked.insert(picked.end(), from, from + block);
  }
  return node.emit("gr.constant", {}, {node.named("value", makeElements(node, result, picked))});
}

}  // namespace graphrun::frontends
