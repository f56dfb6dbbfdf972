#include "frontends/onnx/operators/quantized_products.h"

#include <limits>

#include "frontends/onnx/operators/constant_rows.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/operators/ops_window.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "passes/quantized_forms.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;

constexpr int64_t kHalf = 128;  // between u8 and i8

mlir::Type i32(Node& node) { return node.builder().getI32Type(); }

mlir::Value inI32(Node& node, mlir::Value value) { return castTo(node, value, i32(node)); }

/// `values` (of i8, in range) as a constant.
mlir::Value constantBytes(Node& node, llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<int64_t> values) {
  std::vector<char> bytes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    bytes[i] = static_cast<char>(values[i]);
  }
  auto type = mlir::RankedTensorType::get(dims, node.builder().getIntegerType(8));
  return node.emit("gr.constant", {}, {node.named("value", makeElements(node, type, bytes))});
}

/// An operand of the other signedness: the same differences to its zero point.
QuantizedOperand shifted(Node& node, const QuantizedOperand& operand, int64_t shift) {
  mlir::Type to = node.builder().getIntegerType(8, /*isSigned=*/false);
  to = shift < 0 ? mlir::Type(node.builder().getIntegerType(8)) : to;
  auto moved = [&](mlir::Value value) {
    value = inI32(node, value);
    return node.emit("gr.add", {value, node.scalarLike(value, static_cast<double>(shift))});
  };
  mlir::Value zero = operand.zeroPoint ? operand.zeroPoint : node.scalarLike(operand.value, 0);
  return {castTo(node, moved(operand.value), to), moved(zero)};
}

/// The left operand as u8, its zero point (or null) as i32.
QuantizedOperand leftOperand(Node& node, const QuantizedOperand& operand) {
  if (!node.elementOf(operand.value).isUnsignedInteger()) {
    return shifted(node, operand, kHalf);
  }
  return {operand.value, operand.zeroPoint ? inI32(node, operand.zeroPoint) : mlir::Value()};
}

/// Constant weights with their one zero point taken off, where all that remains fits into i8; else
/// null.
mlir::Value centredWeights(Node& node, const QuantizedOperand& operand) {
  std::optional<std::vector<int64_t>> values = passes::integersOf(operand.value);
  std::optional<std::vector<int64_t>> zeros =
      operand.zeroPoint ? passes::integersOf(operand.zeroPoint) : std::vector<int64_t>{0};
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(operand.value.getType());
  if (!values || !zeros || zeros->empty() || !llvm::all_equal(*zeros) || !type || values->empty()) {
    return nullptr;
  }
  if (zeros->front() == 0 && !type.getElementType().isUnsignedInteger()) {
    return operand.value;
  }
  for (int64_t& value : *values) {
    value -= zeros->front();
    if (value < std::numeric_limits<int8_t>::min() || value > std::numeric_limits<int8_t>::max()) {
      return nullptr;
    }
  }
  return constantBytes(node, type.getShape(), *values);
}

/// The right operand as i8, its zero point as i32: null where it is known to be 0.
QuantizedOperand rightOperand(Node& node, const QuantizedOperand& operand) {
  if (mlir::Value weights = centredWeights(node, operand)) {
    return {weights, nullptr};
  }
  if (node.elementOf(operand.value).isUnsignedInteger()) {
    QuantizedOperand moved = shifted(node, operand, -kHalf);
    std::optional<std::vector<int64_t>> values = passes::integersOf(operand.value);
    if (values && !values->empty()) {  // what is computed of large constants is not folded
      llvm::for_each(*values, [](int64_t& value) { value -= kHalf; });
      moved.value = constantBytes(
          node, llvm::cast<mlir::ShapedType>(operand.value.getType()).getShape(), *values);
    }
    return moved;
  }
  return {operand.value, operand.zeroPoint ? inI32(node, operand.zeroPoint) : mlir::Value()};
}

/// Sums of i8 elements over `axes`, which stay as dims of 1. Of constants a constant.
mlir::Value sumOver(Node& node, mlir::Value value, const Ints& axes) {
  if (!value) {
    return nullptr;  // what makes it has failed
  }
  std::optional<std::vector<int64_t>> values = passes::integersOf(value);
  auto type = llvm::cast<mlir::ShapedType>(value.getType());
  if (!values || static_cast<int64_t>(values->size()) != type.getNumElements()) {
    return node.emit(
        "gr.reduce", {inI32(node, value)},
        {node.text("kind", "sum"), node.integers("axes", axes), node.boolean("keepdims", true)});
  }
  Ints dims(type.getShape());
  for (int64_t axis : axes) {
    dims[axis] = 1;
  }
  auto result = mlir::RankedTensorType::get(dims, i32(node));
  // Row-major strides over the result, 0 along the axes.
  Ints strides(dims.size(), 0);
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = dims[d] == type.getDimSize(d) ? stride : 0;
    stride *= dims[d];
  }
  std::vector<int32_t> sums(result.getNumElements());
  for (size_t i = 0; i < values->size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      at += rest % type.getDimSize(d) * strides[d];
      rest /= type.getDimSize(d);
    }
    sums[at] += static_cast<int32_t>((*values)[i]);
  }
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char*>(sums.data()),
                             sums.size() * sizeof(int32_t));
  return node.emit("gr.constant", {}, {node.named("value", makeElements(node, result, bytes))});
}

/// `value - factor * other`; `value` where the factor is null.
mlir::Value less(Node& node, mlir::Value value, mlir::Value factor, mlir::Value other) {
  return factor ? node.emit("gr.sub", {value, node.emit("gr.mul", {factor, other})}) : value;
}

/// The operand's elements less its zero point, in i32.
mlir::Value centred(Node& node, const QuantizedOperand& operand) {
  mlir::Value value = inI32(node, operand.value);
  return operand.zeroPoint ? node.emit("gr.sub", {value, inI32(node, operand.zeroPoint)}) : value;
}

/// The convolution where it cannot be one of bytes.
mlir::Value plainConvolution(Node& node, const QuantizedOperand& x, const QuantizedOperand& filter,
                             mlir::Value bias) {
  std::optional<int64_t> rank = node.rankOf(filter.value);
  QuantizedOperand spread = filter;
  if (rank && filter.zeroPoint && node.rankOf(filter.zeroPoint) == 1) {
    spread.zeroPoint = withTrailing(node, filter.zeroPoint, *rank - 1);
  }
  Values operands = {centred(node, x), centred(node, spread)};
  if (bias) {
    operands.push_back(bias);
  }
  return convolution(node, operands);
}

/// Returns the addend to each channel of `x` times `weights`: the bias less what x's zero point
/// adds. Broadcasts to the result; null when it is nothing.
mlir::Value channelOffset(Node& node, mlir::Value zeroPoint, mlir::Value weights,
                          mlir::Value bias) {
  if (node.failed()) {
    return nullptr;
  }
  const int64_t rank = node.rankOf(weights).value();
  mlir::Value offset = bias ? withTrailing(node, bias, rank - 2) : mlir::Value();
  if (!zeroPoint) {
    return offset;
  }
  // O x 1 x 1 …, of which the result's rank wants one dim less behind the batch.
  mlir::Value sums = sumOver(node, weights, llvm::to_vector(llvm::seq<int64_t>(1, rank)));
  sums = node.emit("gr.squeeze", {sums}, {node.integers("axes", {1})});
  mlir::Value taken = node.emit("gr.mul", {zeroPoint, sums});
  return offset ? node.emit("gr.sub", {offset, taken}) : node.emit("gr.neg", {taken});
}

/// Sums of `x` less its zero point over what each window covers: a convolution with ones, for all
/// channels alike where there is one group.
mlir::Value windowSums(Node& node, const PaddedInput& x, mlir::Value zeroPoint,
                       mlir::Value weights) {
  Ints dims(llvm::cast<mlir::RankedTensorType>(weights.getType()).getShape());
  dims[0] = node.attributes().integer("group", 1) == 1 ? 1 : dims[0];
  std::vector<int64_t> elements(mlir::ShapedType::getNumElements(dims), 1);
  mlir::Value ones = constantBytes(node, dims, elements);
  mlir::Value sums = convolution(node, {x.value, ones}, x.isPadded);
  mlir::Value offset = channelOffset(node, zeroPoint, ones, nullptr);
  return offset ? node.emit("gr.add", {sums, offset}) : sums;
}

}  // namespace

mlir::Value quantizedMatMul(Node& node, const QuantizedOperand& lhs, const QuantizedOperand& rhs) {
  std::optional<int64_t> lhsRank = node.rankOf(lhs.value);
  std::optional<int64_t> rhsRank = node.rankOf(rhs.value);
  if (!lhsRank || !rhsRank || node.failed()) {
    return nullptr;
  }
  if (*lhsRank < 2 || *rhsRank < 2) {
    return node.emit("gr.matmul", {centred(node, lhs), centred(node, rhs)});
  }
  QuantizedOperand a = leftOperand(node, lhs);
  QuantizedOperand b = rightOperand(node, rhs);
  mlir::Value product = node.emit("gr.matmul", {a.value, b.value});
  // (a - p)(b - q) = ab - p * sums of b's columns - (sums of (a - p)'s rows) * q
  product = less(node, product, a.zeroPoint,
                 a.zeroPoint ? sumOver(node, b.value, {*rhsRank - 2}) : mlir::Value());
  if (!b.zeroPoint) {
    return product;
  }
  return less(node, product, b.zeroPoint, sumOver(node, centred(node, a), {*lhsRank - 1}));
}

mlir::Value quantizedConvolution(Node& node, const QuantizedOperand& x,
                                 const QuantizedOperand& filter, mlir::Value bias) {
  std::optional<int64_t> rank = node.rankOf(filter.value);
  if (!rank || node.failed()) {
    return nullptr;
  }
  QuantizedOperand a = leftOperand(node, x);
  QuantizedOperand b = rightOperand(node, filter);
  bool isStatic = llvm::cast<mlir::ShapedType>(filter.value.getType()).hasStaticShape();
  std::optional<PaddedInput> padded = paddedInput(node, a.value, a.zeroPoint);
  if (node.failed() || node.later()) {
    return nullptr;
  }
  if (!padded || *rank < 3 || (b.zeroPoint && !isStatic)) {
    return plainConvolution(node, x, filter, bias);
  }
  mlir::Value product = convolution(node, {padded->value, b.value}, padded->isPadded);
  mlir::Value offset = channelOffset(node, a.zeroPoint, b.value, bias);
  product = offset ? node.emit("gr.add", {product, offset}) : product;
  if (!b.zeroPoint) {
    return product;
  }
  mlir::Value zero = b.zeroPoint;
  zero = node.rankOf(zero) == 1 ? withTrailing(node, zero, *rank - 2) : zero;
  return less(node, product, zero, windowSums(node, *padded, a.zeroPoint, b.value));
}

}  // namespace graphrun::frontends
