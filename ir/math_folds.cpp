// Folders of the math family.
#include <cmath>

#include "ir/dialect.h"
#include "ir/dims.h"
#include "ir/folding.h"
#include "ir/scalar.h"
#include "llvm/ADT/APSInt.h"

namespace graphrun::ir {
namespace {

/// Elements of each operand, laid out as the result's (broadcast), for one kind of number.
template <typename T, typename Read>
llvm::SmallVector<llvm::SmallVector<T>> broadcastOperands(
    llvm::ArrayRef<mlir::DenseElementsAttr> operands, mlir::RankedTensorType type, Read read) {
  llvm::SmallVector<llvm::SmallVector<T>> columns;
  for (mlir::DenseElementsAttr operand : operands) {
    llvm::SmallVector<T> values = read(operand);
    llvm::SmallVector<T>& column = columns.emplace_back(type.getNumElements());
    forEachBroadcast(operand.getType().getShape(), type.getShape(),
                     [&](int64_t out, int64_t in) { column[out] = values[in]; });
  }
  return columns;
}

template <typename T, typename Read, typename Evaluate>
std::optional<llvm::SmallVector<T>> evaluateAll(mlir::Operation* op,
                                                llvm::ArrayRef<mlir::DenseElementsAttr> operands,
                                                mlir::RankedTensorType type, Read read,
                                                Evaluate evaluate) {
  auto columns = broadcastOperands<T>(operands, type, read);
  llvm::SmallVector<T> results;
  llvm::SmallVector<T> row(operands.size());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    for (auto [x, column] : llvm::zip(row, columns)) {
      x = column[i];
    }
    std::optional<T> result = evaluate(op, row);
    if (!result) {
      return std::nullopt;
    }
    results.push_back(*result);
  }
  return results;
}

/// Dense attribute of `type`, or null when it has no elements (no attribute can be made of none).
template <typename T>
mlir::Attribute makeResult(mlir::RankedTensorType type, llvm::ArrayRef<T> values) {
  if (values.empty()) {
    return nullptr;
  }
  if (llvm::isa<mlir::FloatType>(type.getElementType())) {
    return makeFloats(type, llvm::SmallVector<double>(values.begin(), values.end()));
  }
  return makeInts(type, llvm::SmallVector<int64_t>(values.begin(), values.end()));
}

/// Evaluates an element-wise operation whose operands are all constant.
mlir::Attribute foldElementwise(mlir::Operation* op, llvm::ArrayRef<mlir::Attribute> attributes) {
  mlir::RankedTensorType type = foldableType(op->getResult(0).getType());
  llvm::SmallVector<mlir::DenseElementsAttr> operands;
  for (mlir::Attribute attribute : attributes) {
    operands.push_back(denseOf(attribute));
    if (!operands.back() || operands.back().getElementType().isUnsignedInteger()) {
      return nullptr;
    }
  }
  if (!type) {
    return nullptr;
  }
  // The last operand decides the arithmetic: the condition of `where` is bool, its values may not
  // be.
  if (llvm::isa<mlir::FloatType>(operands.back().getElementType())) {
    auto values = evaluateAll<double>(op, operands, type, numbersOf, evaluateFloat);
    return values ? makeResult<double>(type, *values) : nullptr;
  }
  auto values = evaluateAll<int64_t>(op, operands, type, intsOf, evaluateInt);
  return values ? makeResult<int64_t>(type, *values) : nullptr;
}

/// Integers as floats, rounded as kernels do: to f32 before a narrower type.
mlir::Attribute castToFloats(mlir::DenseElementsAttr input, mlir::RankedTensorType type) {
  mlir::Type from = input.getElementType();
  bool isSigned = !from.isUnsignedInteger() && !from.isInteger(1);
  auto to = llvm::cast<mlir::FloatType>(type.getElementType());
  llvm::SmallVector<llvm::APFloat> values;
  for (const llvm::APInt& element : input.getValues<llvm::APInt>()) {
    bool inexact = false;
    llvm::APFloat& value =
        values.emplace_back(to.isF64() ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle());
    value.convertFromAPInt(element, isSigned, llvm::APFloat::rmNearestTiesToEven);
    value.convert(to.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  }
  return mlir::DenseElementsAttr::get(type, values);
}

/// `value` towards 0 is a number of the integer type `to`.
bool isInRange(double value, mlir::Type to) {
  int bits = static_cast<int>(to.getIntOrFloatBitWidth());
  double low = to.isUnsignedInteger() ? 0 : -std::ldexp(1.0, bits - 1);
  double end = std::ldexp(1.0, to.isUnsignedInteger() ? bits : bits - 1);
  return std::trunc(value) >= low && value < end;
}

/// `kept` when it has the result's type already: an operand that the operation leaves as it is.
mlir::OpFoldResult keep(mlir::Operation* op, mlir::Value kept) {
  return kept.getType() == op->getResult(0).getType() ? mlir::OpFoldResult(kept) : nullptr;
}

/// `x op neutral` is x, and so is `neutral op x` where the operation commutes.
mlir::OpFoldResult foldBinary(mlir::Operation* op, llvm::ArrayRef<mlir::Attribute> operands,
                              std::optional<double> neutral) {
  bool commutes = op->hasTrait<mlir::OpTrait::IsCommutative>();
  for (unsigned kept : {0U, 1U}) {
    if (neutral && (kept == 0 || commutes) && isSplatOf(operands[1 - kept], *neutral)) {
      if (mlir::OpFoldResult value = keep(op, op->getOperand(kept))) {
        return value;
      }
    }
  }
  return foldElementwise(op, operands);
}

}  // namespace

#define GR_UNARY(Class, name, builder, rule, flops, onnx, since) \
  mlir::OpFoldResult Class##Op::fold(FoldAdaptor adaptor) {      \
    return foldElementwise(*this, adaptor.getOperands());        \
  }
#define GR_BINARY(Class, name, builder, rule, flops, onnx, since, neutral) \
  mlir::OpFoldResult Class##Op::fold(FoldAdaptor adaptor) {                \
    return foldBinary(*this, adaptor.getOperands(), neutral);              \
  }
#include "devices/functions/elementwise.def"

mlir::OpFoldResult WhereOp::fold(FoldAdaptor adaptor) {
  return foldElementwise(*this, adaptor.getOperands());
}

mlir::OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType()) {
    return getInput();
  }
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  mlir::RankedTensorType type = foldableType(getType());
  // How small floats round and saturate is left to kernels.
  bool toSmall = !isComputed(getTo()) && !llvm::isa<mlir::IntegerType>(getTo());
  // Weights of bytes stay bytes: products read them as they are.
  bool isWeight = input && input.getElementType().isInteger(8) && !input.isSplat() &&
                  llvm::isa<mlir::FloatType>(getTo());
  if (!input || !type || type.getNumElements() == 0 || toSmall || isWeight) {
    return nullptr;
  }
  bool toFloat = llvm::isa<mlir::FloatType>(getTo());
  if (!llvm::isa<mlir::FloatType>(input.getElementType())) {
    if (toFloat) {
      return castToFloats(input, type);
    }
    llvm::SmallVector<int64_t> values = intsOf(input);
    if (getTo().isInteger(1)) {
      llvm::for_each(values, [](int64_t& value) { value = value != 0 ? 1 : 0; });
    }
    return makeResult<int64_t>(type, values);
  }
  llvm::SmallVector<double> values = floatsOf(input);
  if (getTo().isInteger(1)) {
    llvm::for_each(values, [](double& value) { value = value != 0 ? 1 : 0; });
    return makeResult<double>(type, values);
  }
  if (toFloat) {
    // Kernels round to f32 before a narrower type.
    llvm::for_each(values, [&](double& value) {
      value = getTo().isF64() ? value : static_cast<float>(value);
    });
    return makeResult<double>(type, values);
  }
  // Out of the integer's range there is no value to fold to.
  bool fits = llvm::all_of(values, [&](double value) { return isInRange(value, getTo()); });
  if (!fits) {
    return nullptr;
  }
  llvm::SmallVector<llvm::APInt> elements;
  for (double value : values) {
    llvm::APSInt number(getTo().getIntOrFloatBitWidth(), getTo().isUnsignedInteger());
    bool exact = false;
    llvm::APFloat(value).convertToInteger(number, llvm::APFloat::rmTowardZero, &exact);
    elements.push_back(number);
  }
  return mlir::DenseElementsAttr::get(type, elements);
}

mlir::OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  if (getAxes().empty() && getInput().getType() == getType()) {
    return getInput();
  }
  // Products over shapes are how element counts are computed; other reductions are left to kernels.
  mlir::DenseElementsAttr input = denseOf(adaptor.getInput());
  mlir::RankedTensorType type = foldableType(getType());
  if (!input || !type || input.getType().getRank() != 1 || getAxes().size() != 1 ||
      getKind() != ReduceKind::kProd || !input.getElementType().isSignlessInteger(64)) {
    return nullptr;
  }
  int64_t result = 1;
  for (int64_t value : intsOf(input)) {
    if (__builtin_mul_overflow(result, value, &result)) {
      return nullptr;
    }
  }
  return makeInts(type, {result});
}

}  // namespace graphrun::ir
