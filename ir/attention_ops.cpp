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

/// Fails unless the query's heads are a multiple of the keys'.
mlir::LogicalResult checkHeads(mlir::Operation* op, const Dim& query, const Dim& key) {
  if (key.isStatic() && query.isStatic() && (key.value() < 1 || query.value() % key.value() != 0)) {
    return op->emitOpError() << "query has " << query.value() << " heads, expected a multiple of "
                             << key.value();
  }
  return mlir::success();
}

/// Fails unless `mask` has at most the rank of the scores, and broadcasts to them.
mlir::LogicalResult checkMask(mlir::Operation* op, mlir::Value mask, llvm::ArrayRef<Dim> scores) {
  std::optional<Dims> dims = mask ? dimsOf(mask) : std::nullopt;
  if (!dims) {
    return mlir::success();
  }
  size_t rank = std::min(dims->size(), scores.size());
  return checkOperand(op, mask, "mask", scores.take_back(rank), true);
}

/// Fails unless the operands that are there are floating-point of one type.
mlir::LogicalResult checkElements(mlir::Operation* op) {
  for (mlir::Value operand : op->getOperands()) {
    if (mlir::failed(requireFloat(op, operand, "operand")) ||
        mlir::failed(requireSameElement(op, op->getOperand(0), operand))) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

/// Dims of query, key and value, of rank 4 each.
struct AttendedDims {
  Dims query, key, value;
};

/// Those of `op`; nothing while a rank is unknown. Fails when one is not 4, or when operands have
/// other element types than they may.
template <typename Op>
mlir::FailureOr<std::optional<AttendedDims>> attendedDims(Op op) {
  if (mlir::failed(checkElements(op))) {
    return mlir::failure();
  }
  std::optional<Dims> query = dimsOf(op.getQuery());
  std::optional<Dims> key = dimsOf(op.getKey());
  std::optional<Dims> value = dimsOf(op.getValue());
  if (!query || !key || !value) {
    return std::optional<AttendedDims>();
  }
  if (query->size() != 4 || key->size() != 4 || value->size() != 4) {
    return op.emitOpError() << "query, key and value are of ranks " << query->size() << ", "
                            << key->size() << " and " << value->size() << ", expected 4";
  }
  return std::optional<AttendedDims>({*query, *key, *value});
}

}  // namespace

mlir::LogicalResult AttentionOp::inferTypes(Types& types) {
  mlir::Type element = elementOf(getQuery());
  mlir::FailureOr<std::optional<AttendedDims>> dims = attendedDims(*this);
  if (mlir::failed(dims)) {
    return mlir::failure();
  }
  if (!*dims) {
    return push(types, std::nullopt, element);
  }
  const auto& [query, key, value] = **dims;
  const Dim &batch = query[0], &heads = key[1], &keys = key[2];
  if (mlir::failed(checkHeads(*this, query[1], heads)) ||
      mlir::failed(checkOperand(*this, getKey(), "key", {batch, heads, keys, query[3]}, false)) ||
      mlir::failed(
          checkOperand(*this, getValue(), "value", {batch, heads, keys, value[3]}, false)) ||
      mlir::failed(checkMask(*this, getMask(), {batch, query[1], query[2], keys}))) {
    return mlir::failure();
  }
  return push(types, Dims{batch, query[1], query[2], value[3]}, element);
}

OpCost AttentionOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto query = llvm::cast<mlir::ShapedType>(getQuery().getType());
    auto value = llvm::cast<mlir::ShapedType>(getValue().getType());
    int64_t scores =
        query.getNumElements() / std::max<int64_t>(1, query.getDimSize(3)) * value.getDimSize(2);
    constexpr int64_t kSoftmaxFlops = 12;  // exponentials, mostly
    // Of a causal score matrix half is left.
    cost.flops = scores * (2 * query.getDimSize(3) + 2 * value.getDimSize(3) + kSoftmaxFlops) /
                 (getCausal() ? 2 : 1);
  }
  return cost;
}

mlir::LogicalResult LinearAttentionOp::inferTypes(Types& types) {
  mlir::Type element = elementOf(getQuery());
  mlir::FailureOr<std::optional<AttendedDims>> dims = attendedDims(*this);
  if (mlir::failed(dims)) {
    return mlir::failure();
  }
  if (!*dims) {
    (void)push(types, std::nullopt, element);
    return push(types, std::nullopt, element);
  }
  const auto& [query, key, value] = **dims;
  const Dim &batch = query[0], &heads = key[1], &steps = query[2], &width = query[3];
  const Dim& valueWidth = value[3];
  if (mlir::failed(checkHeads(*this, query[1], heads)) ||
      mlir::failed(checkOperand(*this, getKey(), "key", {batch, heads, steps, width}, false)) ||
      mlir::failed(
          checkOperand(*this, getValue(), "value", {batch, heads, steps, valueWidth}, false)) ||
      mlir::failed(
          checkOperand(*this, getState(), "state", {batch, heads, width, valueWidth}, false)) ||
      mlir::failed(checkOperand(*this, getGate(), "gate", {batch, heads, steps, width}, true)) ||
      mlir::failed(checkOperand(*this, getRate(), "rate", {batch, heads, steps, Dim(1)}, true))) {
    return mlir::failure();
  }
  (void)push(types, Dims{batch, query[1], steps, valueWidth}, element);
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
