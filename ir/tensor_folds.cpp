// Folders of the tensor family.
#include "ir/dialect.h"
#include "ir/dims.h"
#include "ir/folding.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace graphrun::ir {
namespace {

/// The constant with another shape of as many elements; null when `value` is not a constant.
mlir::Attribute reshaped(mlir::Attribute value, mlir::Type result) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(result);
  if (!type || !type.hasStaticShape()) {
    return nullptr;
  }
  if (auto resource = llvm::dyn_cast_or_null<mlir::DenseResourceElementsAttr>(value)) {
    return mlir::DenseResourceElementsAttr::get(type, resource.getRawHandle());
  }
  mlir::DenseElementsAttr dense = denseOf(value);
  if (!dense || dense.getNumElements() != type.getNumElements()) {
    return nullptr;
  }
  return dense.reshape(type);
}

/// A 1-D int64 constant from elements that are all known; null otherwise.
mlir::Attribute foldElements(mlir::Value value) {
  mlir::RankedTensorType type = foldableType(value.getType());
  std::optional<Dims> elements = elementsOf(value);
  if (!type || !elements || elements->empty() ||
      llvm::any_of(*elements, [](const Dim& dim) { return !dim.isStatic(); })) {
    return nullptr;
  }
  llvm::SmallVector<int64_t> values;
  for (const Dim& dim : *elements) {
    values.push_back(dim.value());
  }
  return makeInts(type, values);
}

}  // namespace

mlir::Attribute pick(mlir::DenseElementsAttr input, mlir::RankedTensorType type,
                     llvm::ArrayRef<int64_t> offsets) {
  if (input.isSplat()) {
    return input.resizeSplat(type);
  }
  auto elements = llvm::to_vector(input.getValues<mlir::Attribute>());
  llvm::SmallVector<mlir::Attribute> picked;
  for (int64_t offset : offsets) {
    picked.push_back(elements[offset]);
  }
  return mlir::DenseElementsAttr::get(type, picked);
}

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

mlir::OpFoldResult ShapeOp::fold(FoldAdaptor) { return foldElements(getResult()); }

mlir::OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  bool isStatic = llvm::cast<mlir::ShapedType>(getType()).hasStaticShape();
  if (isStatic && getInput().getType() == getType()) {
    return getInput();
  }
  return reshaped(adaptor.getInput(), getType());
}

mlir::OpFoldResult SqueezeOp::fold(FoldAdaptor adaptor) {
  return getAxes().empty() && getInput().getType() == getType()
             ? mlir::OpFoldResult(getInput())
             : mlir::OpFoldResult(reshaped(adaptor.getInput(), getType()));
}

mlir::OpFoldResult UnsqueezeOp::fold(FoldAdaptor adaptor) {
  return getAxes().empty() && getInput().getType() == getType()
             ? mlir::OpFoldResult(getInput())
             : mlir::OpFoldResult(reshaped(adaptor.getInput(), getType()));
}

mlir::OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  llvm::ArrayRef<int64_t> permutation = getPermutation();
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())) &&
      getInput().getType() == getType()) {
    return getInput();
  }
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  mlir::RankedTensorType type = foldableType(getType());
  if (!input || !type || type.getNumElements() == 0) {
    return nullptr;
  }
  llvm::SmallVector<int64_t> strides(permutation.size(), 1);
  for (size_t i = permutation.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * input.getType().getDimSize(i);
  }
  llvm::SmallVector<int64_t> offsets;
  for (int64_t out = 0; out < type.getNumElements(); ++out) {
    int64_t rest = out;
    int64_t offset = 0;
    for (size_t i = permutation.size(); i-- > 0;) {
      offset += rest % type.getDimSize(i) * strides[permutation[i]];
      rest /= type.getDimSize(i);
    }
    offsets.push_back(offset);
  }
  return pick(input, type, offsets);
}

mlir::OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType()) {
    return getInputs()[0];
  }
  return foldElements(getResult());
}

mlir::OpFoldResult SliceOp::fold(FoldAdaptor) { return foldElements(getResult()); }

mlir::OpFoldResult PadOp::fold(FoldAdaptor) {
  std::optional<llvm::SmallVector<int64_t>> pads = constantInts(getPads());
  bool none = pads && llvm::all_of(*pads, [](int64_t pad) { return pad == 0; });
  return none && getInput().getType() == getType() ? mlir::OpFoldResult(getInput()) : nullptr;
}

mlir::OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  if (mlir::Attribute elements = foldElements(getResult())) {
    return elements;
  }
  // A scalar index into a constant vector of any element type.
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  std::optional<llvm::SmallVector<int64_t>> indices = constantInts(getIndices());
  mlir::RankedTensorType type = foldableType(getType());
  if (!input || !indices || !type || type.getNumElements() == 0 || input.getType().getRank() != 1) {
    return nullptr;
  }
  int64_t size = input.getNumElements();
  for (int64_t& index : *indices) {
    index += index < 0 ? size : 0;
    if (index < 0 || index >= size) {
      return nullptr;
    }
  }
  return pick(input, type, *indices);
}

mlir::OpFoldResult ExpandOp::fold(FoldAdaptor adaptor) {
  bool isStatic = llvm::cast<mlir::ShapedType>(getType()).hasStaticShape();
  if (isStatic && getInput().getType() == getType()) {
    return getInput();
  }
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  if (input && isStatic && input.isSplat()) {
    return input.resizeSplat(llvm::cast<mlir::ShapedType>(getType()));
  }
  return nullptr;
}

mlir::OpFoldResult TileOp::fold(FoldAdaptor) {
  std::optional<llvm::SmallVector<int64_t>> repeats = constantInts(getRepeats());
  bool once = repeats && llvm::all_of(*repeats, [](int64_t count) { return count == 1; });
  return once && getInput().getType() == getType() ? mlir::OpFoldResult(getInput()) : nullptr;
}

mlir::OpFoldResult FillOp::fold(FoldAdaptor) {
  auto type = llvm::cast<mlir::ShapedType>(getType());
  mlir::DenseElementsAttr value = denseOf(getValue());
  if (!type.hasStaticShape() || !value) {
    return nullptr;
  }
  return value.reshape(mlir::RankedTensorType::get({}, value.getElementType())).resizeSplat(type);
}

}  // namespace graphrun::ir
