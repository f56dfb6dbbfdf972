#include "ir/builders.h"

#include "ir/folding.h"
#include "mlir/IR/Verifier.h"

namespace graphrun::ir {

mlir::LogicalResult updateResultTypes(mlir::Operation* op) {
  llvm::SmallVector<mlir::Type> types;
  if (mlir::failed(verifyWords(op)) ||
      mlir::failed(llvm::cast<GrOpInterface>(op).inferTypes(types))) {
    return mlir::failure();
  }
  for (auto [result, type] : llvm::zip(op->getResults(), types)) {
    result.setType(type);
  }
  return mlir::success();
}

mlir::FailureOr<mlir::Operation*> createOp(mlir::OpBuilder& builder, mlir::Location loc,
                                           llvm::StringRef name, mlir::ValueRange operands,
                                           llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                           unsigned results) {
  mlir::OperationState state(loc, name, operands, {}, attributes);
  // The real types follow from the operation itself, once it is known to have all its attributes.
  state.types.assign(results, placeholderType(builder.getContext()));
  mlir::Operation* op = builder.create(state);
  if (mlir::failed(mlir::verify(op)) || mlir::failed(updateResultTypes(op))) {
    op->erase();
    return mlir::failure();
  }
  return op;
}

mlir::Value createInts(mlir::OpBuilder& builder, mlir::Location loc,
                       llvm::ArrayRef<int64_t> values) {
  auto type =
      mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
  auto attr = mlir::DenseElementsAttr::get(type, values);
  return builder.create<ConstantOp>(loc, type, attr);
}

mlir::Value createScalar(mlir::OpBuilder& builder, mlir::Location loc, mlir::Type element,
                         double value) {
  auto type = mlir::RankedTensorType::get({}, element);
  if (isStrings(element)) {  // the only text that stands for a number: nothing
    return builder.create<ConstantOp>(loc, type, makeStrings(type, {""}));
  }
  mlir::DenseElementsAttr attr = llvm::isa<mlir::FloatType>(element)
                                     ? makeFloats(type, {value})
                                     : makeInts(type, {static_cast<int64_t>(value)});
  return builder.create<ConstantOp>(loc, type, attr);
}

mlir::Value createFull(mlir::OpBuilder& builder, mlir::Location loc, mlir::RankedTensorType type,
                       double value) {
  llvm::SmallVector<double, 1> values(type.getNumElements() == 0 ? 0 : 1, value);
  mlir::DenseElementsAttr elements =
      llvm::isa<mlir::FloatType>(type.getElementType())
          ? makeFloats(type, values)
          : makeInts(type, llvm::SmallVector<int64_t, 1>(values.begin(), values.end()));
  return builder.create<ConstantOp>(loc, type, elements);
}

mlir::ElementsAttr knownElements(mlir::Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    return constant.getValue();
  }
  auto evaluated = value.getDefiningOp<EvaluatedOp>();
  return evaluated ? evaluated.getValue() : nullptr;
}

std::optional<llvm::SmallVector<llvm::StringRef>> stringsOf(mlir::Value value) {
  auto dense = llvm::dyn_cast_or_null<mlir::DenseStringElementsAttr>(knownElements(value));
  if (!dense) {
    return std::nullopt;
  }
  return llvm::to_vector(dense.getValues<llvm::StringRef>());
}

mlir::DenseElementsAttr makeStrings(mlir::RankedTensorType type,
                                    llvm::ArrayRef<llvm::StringRef> strings) {
  return mlir::DenseStringElementsAttr::get(type, strings);
}

}  // namespace graphrun::ir
