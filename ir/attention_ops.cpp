// Types and costs of the attention family.
#include "ir/infer.h"

namespace graphrun::ir {
namespace {

/// Fails unless `value` has exactly or, when `broadcasts`, can be broadcast to the dims `expected`.
mlir::LogicalResult checkOperand(mlir::Operation* op, mlir::Value value, llvm::StringRef what,
                                 llvm::ArrayRef<Dim> expected, bool broadcasts) {
  std::optional<Dims> dims = dimsOf(value);
  if (!dims) {
    return mlir::success();
  }
  bool fits = dims->size() == expected.size();
  for (size_t i = 0; fits && i < dims->size(); ++i) {
    bool one = broadcasts && provablyEqual((*dims)[i], Dim(1));
    fits = one || !provablyDifferent((*dims)[i], expected[i]);
  }
  if (fits) {
    return mlir::success();
  }
  return op->emitOpError() << what << " has shape " << toString(*dims) << ", expected "
                           << toString(expected)
                           << (broadcasts ? " or dims of 1 in its place" : "");
}

}  // namespace

mlir::LogicalResult LinearAttentionOp::inferTypes(Types& types) {
  for (mlir::Value operand : getOperands()) {
    if (mlir::failed(requireFloat(*this, operand, "operand")) ||
        mlir::failed(requireSameElement(*this, getQuery(), operand))) {
      return mlir::failure();
    }
  }
  mlir::Type element = elementOf(getQuery());
  std::optional<Dims> query = dimsOf(getQuery());
  std::optional<Dims> key = dimsOf(getKey());
  std::optional<Dims> value = dimsOf(getValue());
  if (!query || !key || !value) {
    (void)push(types, std::nullopt, element);
    return push(types, std::nullopt, element);
  }
  if (query->size() != 4 || key->size() != 4 || value->size() != 4) {
    return emitOpError() << "query, key and value are of ranks " << query->size() << ", "
                         << key->size() << " and " << value->size() << ", expected 4";
  }
  const Dim &batch = (*query)[0], &heads = (*key)[1], &steps = (*query)[2], &width = (*query)[3];
  const Dim& valueWidth = (*value)[3];
  if (heads.isStatic() && (*query)[1].isStatic() &&
      (heads.value() < 1 || (*query)[1].value() % heads.value() != 0)) {
    return emitOpError() << "query has " << (*query)[1].value() << " heads, expected a multiple of "
                         << heads.value();
  }
  if (mlir::failed(checkOperand(*this, getKey(), "key", {batch, heads, steps, width}, false)) ||
      mlir::failed(
          checkOperand(*this, getValue(), "value", {batch, heads, steps, valueWidth}, false)) ||
      mlir::failed(
          checkOperand(*this, getState(), "state", {batch, heads, width, valueWidth}, false)) ||
      mlir::failed(checkOperand(*this, getGate(), "gate", {batch, heads, steps, width}, true)) ||
      mlir::failed(checkOperand(*this, getRate(), "rate", {batch, heads, steps, Dim(1)}, true))) {
    return mlir::failure();
  }
  (void)push(types, Dims{batch, (*query)[1], steps, valueWidth}, element);
  return push(types, Dims{batch, heads, width, valueWidth}, element);
}

OpCost LinearAttentionOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto elements = [](mlir::Value value) {
      return llvm::cast<mlir::ShapedType>(value.getType()).getNumElements();
    };
    int64_t width = llvm::cast<mlir::ShapedType>(getKey().getType()).getDimSize(3);
    // Each step gates, corrects and updates the state, and reads it for each head of the query.
    cost.flops =
        (getDelta() ? 5 : 3) * elements(getValue()) * width + 2 * elements(getOutput()) * width;
  }
  return cost;
}

}  // namespace graphrun::ir
