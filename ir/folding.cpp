#include "ir/folding.h"

#include "llvm/ADT/STLExtras.h"

namespace graphrun::ir {

mlir::RankedTensorType foldableType(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() > kMaxFoldedElements) {
    return nullptr;
  }
  return tensor;
}

mlir::DenseElementsAttr denseOf(mlir::Attribute value) {
  return llvm::dyn_cast_or_null<mlir::DenseIntOrFPElementsAttr>(value);
}

llvm::SmallVector<double> floatsOf(mlir::DenseElementsAttr attr) {
  llvm::SmallVector<double> values;
  for (llvm::APFloat value : attr.getValues<llvm::APFloat>()) {
    bool exact = false;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
    values.push_back(value.convertToDouble());
  }
  return values;
}

llvm::SmallVector<int64_t> intsOf(mlir::DenseElementsAttr attr) {
  bool zeroExtend = attr.getElementType().isUnsignedInteger() || attr.getElementType().isInteger(1);
  llvm::SmallVector<int64_t> values;
  for (const llvm::APInt& value : attr.getValues<llvm::APInt>()) {
    values.push_back(zeroExtend ? static_cast<int64_t>(value.getZExtValue())
                                : value.getSExtValue());
  }
  return values;
}

llvm::SmallVector<double> numbersOf(mlir::DenseElementsAttr attr) {
  if (llvm::isa<mlir::FloatType>(attr.getElementType())) {
    return floatsOf(attr);
  }
  llvm::SmallVector<int64_t> ints = intsOf(attr);
  return llvm::SmallVector<double>(ints.begin(), ints.end());
}

mlir::DenseElementsAttr makeFloats(mlir::RankedTensorType type, llvm::ArrayRef<double> values) {
  const llvm::fltSemantics& semantics =
      llvm::cast<mlir::FloatType>(type.getElementType()).getFloatSemantics();
  llvm::SmallVector<llvm::APFloat> elements;
  for (double value : values) {
    bool exact = false;
    elements.emplace_back(value);
    elements.back().convert(semantics, llvm::APFloat::rmNearestTiesToEven, &exact);
  }
  return mlir::DenseElementsAttr::get(type, elements);
}

mlir::DenseElementsAttr makeInts(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> values) {
  unsigned width = type.getElementTypeBitWidth();
  llvm::SmallVector<llvm::APInt> elements;
  for (int64_t value : values) {
    elements.emplace_back(64, static_cast<uint64_t>(value));
    elements.back() = elements.back().trunc(width);
  }
  return mlir::DenseElementsAttr::get(type, elements);
}

void forEachBroadcast(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                      llvm::function_ref<void(int64_t, int64_t)> visit) {
  size_t rank = to.size();
  llvm::SmallVector<int64_t> strides(rank, 0);
  int64_t stride = 1;
  int64_t total = 1;
  for (size_t i = 0; i < rank; ++i) {
    total *= to[i];
  }
  for (size_t i = from.size(); i-- > 0;) {
    strides[rank - from.size() + i] = from[i] == 1 ? 0 : stride;
    stride *= from[i];
  }
  llvm::SmallVector<int64_t> index(rank, 0);
  int64_t in = 0;
  for (int64_t out = 0; out < total; ++out) {
    visit(out, in);
    for (size_t i = rank; i-- > 0;) {
      in += strides[i];
      if (++index[i] < to[i]) {
        break;
      }
      in -= strides[i] * to[i];
      index[i] = 0;
    }
  }
}

bool isSplatOf(mlir::Attribute value, double number) {
  mlir::DenseElementsAttr attr = denseOf(value);
  if (!attr || !attr.isSplat()) {
    return false;
  }
  if (llvm::isa<mlir::FloatType>(attr.getElementType())) {
    return floatsOf(attr.resizeSplat(mlir::RankedTensorType::get({}, attr.getElementType())))[0] ==
           number;
  }
  llvm::APInt element = attr.getSplatValue<llvm::APInt>();
  return element.getBitWidth() > 1 && static_cast<double>(element.getSExtValue()) == number;
}

}  // namespace graphrun::ir
