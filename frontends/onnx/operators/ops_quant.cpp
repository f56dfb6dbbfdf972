// Conversions, and the operations of quantized models: scales and zero points around arithmetic in
// f32 and i32.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/conversion.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/operators/quantized_products.h"
#include "frontends/onnx/tensors.h"
#include "ir/dialect.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::frontends {
namespace {

mlir::Value cast(Node& node, mlir::Value value, mlir::Type element) {
  if (!value || node.elementOf(value) == element) {
    return value;
  }
  return node.emit("gr.cast", {value}, {node.named("to", mlir::TypeAttr::get(element))});
}

bool isIntegerType(mlir::Type element) { return llvm::isa<mlir::IntegerType>(element); }

/// The type that attribute `name` states; null when it is absent (0 is ONNX's "not given") or,
/// reported, wrong.
mlir::Type typeAttribute(Node& node, llvm::StringRef name) {
  auto dataType = static_cast<int32_t>(node.attributes().integer(name, 0));
  mlir::Type type = elementType(node.builder().getContext(), dataType);
  if (dataType != 0 && !type) {
    node.fail(absl::StrCat("attribute ", inQuotes(name), ": ", unsupportedType(dataType)));
  }
  return type;
}

Values bitcast(Node& node) {
  mlir::Type type = node.attributes().require("to") ? typeAttribute(node, "to") : mlir::Type();
  return {
      type ? node.emit("gr.bitcast", {node.input(0)}, {node.named("to", mlir::TypeAttr::get(type))})
           : mlir::Value()};
}

/// A vector of one element as a scalar, which broadcasts to any rank.
mlir::Value withoutRank(Node& node, mlir::Value value) {
  std::optional<ir::Dims> dims = value ? ir::dimsOf(value) : std::nullopt;
  bool single = dims && dims->size() == 1 && (*dims)[0].isStatic() && (*dims)[0].value() == 1;
  return single ? node.emit("gr.squeeze", {value}, {node.integers("axes", {0})}) : value;
}

/// A vector laid along dim `axis` of tensors of `rank` dims; others as they are.
mlir::Value alongAxis(Node& node, mlir::Value value, int64_t axis, int64_t rank) {
  value = withoutRank(node, value);
  std::optional<int64_t> own = node.rankOf(value);
  if (!own || *own != 1 || axis + 1 >= rank) {
    return own ? value : mlir::Value();
  }
  auto trailing = llvm::to_vector(llvm::seq<int64_t>(1, rank - axis));
  return node.emit("gr.unsqueeze", {value}, {node.integers("axes", trailing)});
}

/// Each element along `axis` `block` times, for the `dim` elements that `x` has there.
mlir::Value inBlocks(Node& node, mlir::Value value, mlir::Value x, int64_t axis, int64_t block) {
  std::optional<int64_t> own = node.rankOf(value);
  std::optional<ir::Dims> dims = ir::dimsOf(x);
  if (!own || !dims || !(*dims)[axis].isStatic()) {
    return node.putOff(nullptr);
  }
  if (*own != static_cast<int64_t>(dims->size())) {
    return node.fail(absl::StrCat("has blocks of ", block, " elements and a scale of rank ", *own,
                                  ", expected the input's rank ", dims->size()));
  }
  llvm::SmallVector<int64_t> indices;
  for (int64_t i = 0; i < (*dims)[axis].value(); ++i) {
    indices.push_back(i / block);
  }
  return node.emit("gr.gather", {value, node.constant(indices)}, {node.integer("axis", axis)});
}

/// A Spread says where the scales and zero points of an operation lie on its input.
struct Spread {
  int64_t axis = 0;
  int64_t rank = 0;
  int64_t block = 0;  ///< elements that share a scale along the axis; 0: all that are not there
};

/// From the attributes; nothing when they are wrong or the input's rank is not known.
std::optional<Spread> spreadOf(Node& node) {
  int64_t axis = node.attributes().integer("axis", 1);
  int64_t block = node.attributes().integer("block_size", 0);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> scaleRank = node.rankOf(withoutRank(node, node.input(1)));
  if (!rank || !scaleRank) {
    return std::nullopt;
  }
  if (block < 0) {
    node.fail(absl::StrCat("block_size is ", block, ", expected at least 0"));
    return std::nullopt;
  }
  if (*scaleRank == 0) {
    return Spread{0, *rank, 0};  // one for all: the axis does not matter, and may be out of range
  }
  std::optional<int64_t> dim = node.axisOf(axis, *rank);
  return dim ? std::optional(Spread{*dim, *rank, block}) : std::nullopt;
}

/// `value`, a scale or zero point, such that it broadcasts to the input. Null for null.
mlir::Value spread(Node& node, mlir::Value value, const Spread& how) {
  if (!value) {
    return nullptr;
  }
  return how.block > 0 ? inBlocks(node, value, node.input(0), how.axis, how.block)
                       : alongAxis(node, value, how.axis, how.rank);
}

/// True for a constant of zeros only.
bool isZero(mlir::Value value) {
  mlir::DenseElementsAttr attr;
  if (!mlir::matchPattern(value, mlir::m_Constant(&attr)) || !attr.isSplat()) {
    return false;
  }
  return isIntegerType(attr.getElementType()) ? attr.getSplatValue<llvm::APInt>().isZero()
                                              : attr.getSplatValue<llvm::APFloat>().isZero();
}

struct Range {
  double low, high;
};

Range rangeOf(mlir::Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  double count = static_cast<double>(uint64_t{1} << width);
  return isUnsigned ? Range{0, count - 1} : Range{-count / 2, count / 2 - 1};
}

/// round(ratio) + zeroPoint, kept in the range of the integer type `to`. `zeroPoint` may be null.
/// f32 holds all integers of up to 16 bits, f16 and bf16 do not.
mlir::Value quantizeToInteger(Node& node, mlir::Value ratio, mlir::Value zeroPoint, mlir::Type to) {
  mlir::Type f32 = node.builder().getF32Type();
  mlir::Value whole = cast(node, node.emit("gr.round", {ratio}), f32);
  if (zeroPoint && !isZero(zeroPoint)) {
    whole = node.emit("gr.add", {whole, cast(node, zeroPoint, f32)});
  }
  Range range = rangeOf(to);
  mlir::Value kept =
      node.emit("gr.clip", {whole}, {node.real("low", range.low), node.real("high", range.high)});
  return cast(node, kept, to);
}

/// The same for the small floating-point types, of which only f8's can exceed the range.
mlir::Value quantizeToFloat(Node& node, mlir::Value ratio, mlir::Value zeroPoint, mlir::Type to) {
  if (ratio && zeroPoint && !isZero(zeroPoint)) {
    ratio = node.emit("gr.add", {ratio, cast(node, zeroPoint, node.elementOf(ratio))});
  }
  return converted(node, ratio, to);
}

mlir::Value quantize(Node& node, mlir::Value ratio, mlir::Value zeroPoint, mlir::Type to) {
  return isIntegerType(to) ? quantizeToInteger(node, ratio, zeroPoint, to)
                           : quantizeToFloat(node, ratio, zeroPoint, to);
}

/// The type that QuantizeLinear gives: its zero point's, or what the attribute says, or u8.
mlir::Type quantizedType(Node& node) {
  mlir::Type stated = typeAttribute(node, "output_dtype");
  mlir::Type own = node.input(2) ? node.elementOf(node.input(2)) : nullptr;
  if (stated && own && stated != own) {
    node.fail("attribute \"output_dtype\" and the zero point (input 2) have different types");
  }
  mlir::Type type = own      ? own
                    : stated ? stated
                             : mlir::Type(node.builder().getIntegerType(8, /*isSigned=*/false));
  if (isIntegerType(type) && type.getIntOrFloatBitWidth() > 16) {
    node.fail("quantizes to integers of more than 16 bits, expected a zero point of at most 16");
  }
  return type;
}

/// The type that the input is divided by its scale in.
mlir::Type divisionType(Node& node) {
  if (mlir::Type stated = typeAttribute(node, "precision")) {
    return stated;
  }
  for (size_t i : {1, 0}) {
    mlir::Type type = node.elementOf(node.input(i));
    if (llvm::isa<mlir::FloatType>(type) && ir::isComputed(type)) {
      return type;
    }
  }
  return node.builder().getF32Type();
}

Values quantizeLinear(Node& node) {
  std::optional<Spread> how = spreadOf(node);
  mlir::Type to = quantizedType(node);
  mlir::Type division = divisionType(node);
  if (!how || node.failed()) {
    return {nullptr};
  }
  mlir::Value scale = spread(node, cast(node, node.input(1), division), *how);
  mlir::Value ratio = node.emit("gr.div", {cast(node, node.input(0), division), scale});
  return {quantize(node, ratio, spread(node, node.input(2), *how), to)};
}

/// `value - zeroPoint`, in `element`.
mlir::Value centred(Node& node, mlir::Value value, mlir::Value zeroPoint, mlir::Type element) {
  value = cast(node, value, element);
  return zeroPoint && !isZero(zeroPoint)
             ? node.emit("gr.sub", {value, cast(node, zeroPoint, element)})
             : value;
}

Values dequantizeLinear(Node& node) {
  std::optional<Spread> how = spreadOf(node);
  mlir::Type stated = typeAttribute(node, "output_dtype");
  mlir::Type to = stated ? stated : node.elementOf(node.input(1));
  if (!how || node.failed()) {
    return {nullptr};
  }
  if (!ir::isComputed(to)) {
    return {
        node.fail("its scale (input 1) is of a type that only scales have; attribute "
                  "\"output_dtype\" must say which type the result has")};
  }
  mlir::Type f32 = node.builder().getF32Type();
  // f32 does not hold all elements of i32: the zero point is taken off before.
  mlir::Type own = node.elementOf(node.input(0));
  mlir::Value zeroPoint = spread(node, node.input(2), *how);
  mlir::Value offset = centred(node, node.input(0), zeroPoint, own.isInteger(32) ? own : f32);
  mlir::Value scale = spread(node, cast(node, node.input(1), f32), *how);
  return {cast(node, node.emit("gr.mul", {cast(node, offset, f32), scale}), to)};
}

/// Largest or smallest element, with 0 among them.
mlir::Value extreme(Node& node, int64_t rank, llvm::StringRef kind) {
  mlir::Value x = node.input(0);
  if (rank > 0) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    x = node.emit(
        "gr.reduce", {x},
        {node.text("kind", kind), node.integers("axes", axes), node.boolean("keepdims", false)});
  }
  return node.emit(kind == "max" ? "gr.max" : "gr.min", {x, node.scalarLike(x, 0)});
}

/// The range of the elements, with 0 in it, becomes that of u8.
Values dynamicQuantizeLinear(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!rank) {
    return Values(3);
  }
  mlir::Type u8 = node.builder().getIntegerType(8, /*isSigned=*/false);
  mlir::Value low = extreme(node, *rank, "min");
  mlir::Value range = node.emit("gr.sub", {extreme(node, *rank, "max"), low});
  mlir::Value zero = node.scalarLike(low, 0);
  mlir::Value width =
      node.emit("gr.where", {node.emit("gr.equal", {range, zero}), node.scalarLike(low, 1), range});
  mlir::Value scale = node.emit("gr.div", {width, node.scalarLike(low, 255)});
  mlir::Value start = node.emit("gr.sub", {zero, node.emit("gr.div", {low, scale})});
  mlir::Value zeroPoint = quantizeToInteger(node, start, nullptr, u8);
  mlir::Value ratio = node.emit("gr.div", {node.input(0), scale});
  return {quantizeToInteger(node, ratio, zeroPoint, u8), scale, zeroPoint};
}

/// A scale or zero point of a product's left operand: one, one a row, or in the operand's rank.
mlir::Value ofRows(Node& node, mlir::Value value) {
  value = withoutRank(node, value);
  std::optional<int64_t> rank = node.rankOf(value);
  return rank && *rank == 1 ? node.emit("gr.unsqueeze", {value}, {node.integers("axes", {1})})
                            : value;
}

/// Scales of filters, of which `rank` dims follow the batch: one, or one a result channel.
mlir::Value ofChannels(Node& node, mlir::Value value, int64_t rank) {
  return value ? alongAxis(node, value, 0, rank) : value;
}

/// An input and its zero point, which is left out where it is known to be 0.
QuantizedOperand quantized(mlir::Value value, mlir::Value zeroPoint) {
  return {value, zeroPoint && !isZero(zeroPoint) ? zeroPoint : mlir::Value()};
}

/// The left operand of a product, with zero points of its rows.
QuantizedOperand quantizedRows(Node& node, mlir::Value value, mlir::Value zeroPoint) {
  QuantizedOperand operand = quantized(value, zeroPoint);
  return {value, operand.zeroPoint ? ofRows(node, operand.zeroPoint) : mlir::Value()};
}

/// An operand whose zero point is one, or in the shape that it broadcasts in.
QuantizedOperand quantizedAll(Node& node, mlir::Value value, mlir::Value zeroPoint) {
  QuantizedOperand operand = quantized(value, zeroPoint);
  return {value, withoutRank(node, operand.zeroPoint)};
}

Values matMulInteger(Node& node) {
  return {quantizedMatMul(node, quantizedRows(node, node.input(0), node.input(2)),
                          quantizedAll(node, node.input(1), node.input(3)))};
}

Values convInteger(Node& node) {
  return {quantizedConvolution(node, quantizedAll(node, node.input(0), node.input(2)),
                               quantizedAll(node, node.input(1), node.input(3)), nullptr)};
}

/// `sum * (first * second / result)`, quantized to the type of `zeroPoint`. The scales are of one
/// type, perhaps f16: they are multiplied in f32.
mlir::Value requantize(Node& node, mlir::Value sum, mlir::Value first, mlir::Value second,
                       mlir::Value result, mlir::Value zeroPoint) {
  mlir::Type f32 = node.builder().getF32Type();
  mlir::Value scale =
      node.emit("gr.div", {node.emit("gr.mul", {cast(node, first, f32), cast(node, second, f32)}),
                           cast(node, result, f32)});
  mlir::Value scaled = node.emit("gr.mul", {cast(node, sum, f32), scale});
  return zeroPoint ? quantize(node, scaled, zeroPoint, node.elementOf(zeroPoint)) : mlir::Value();
}

/// Inputs: a, its scale and zero point, b and its, the result's. Integers are summed in i32, the
/// 8-bit floating-point types in f32.
Values qLinearMatMul(Node& node) {
  bool integers =
      isIntegerType(node.elementOf(node.input(0))) && isIntegerType(node.elementOf(node.input(3)));
  mlir::Value sum;
  if (integers) {
    sum = quantizedMatMul(node, quantizedRows(node, node.input(0), node.input(2)),
                          quantizedAll(node, node.input(3), node.input(5)));
  } else {
    mlir::Type f32 = node.builder().getF32Type();
    sum = node.emit("gr.matmul",
                    {centred(node, node.input(0), ofRows(node, node.input(2)), f32),
                     centred(node, node.input(3), withoutRank(node, node.input(5)), f32)});
  }
  return {requantize(node, sum, ofRows(node, node.input(1)), withoutRank(node, node.input(4)),
                     ofRows(node, node.input(6)), ofRows(node, node.input(7)))};
}

/// Inputs: x, its scale and zero point, the filter and its, the result's, and a bias in the units
/// of the sums.
Values qLinearConv(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(3));
  if (!rank) {
    return {nullptr};
  }
  mlir::Value sum =
      quantizedConvolution(node, quantizedAll(node, node.input(0), node.input(2)),
                           quantizedAll(node, node.input(3), node.input(5)), node.input(8));
  // One a channel: dim 1 of the result, as dim 0 of all dims but the batch.
  return {requantize(node, sum, withoutRank(node, node.input(1)),
                     ofChannels(node, node.input(4), *rank - 1), withoutRank(node, node.input(6)),
                     withoutRank(node, node.input(7)))};
}

const OpRow kQuantOps[] = {
    {"BitCast", 26, kLast, 1, 1, 1, bitcast},
    {"QuantizeLinear", 10, kLast, 2, 3, 1, quantizeLinear},
    {"DequantizeLinear", 10, kLast, 2, 3, 1, dequantizeLinear},
    {"DynamicQuantizeLinear", 11, kLast, 1, 1, 3, dynamicQuantizeLinear},
    {"MatMulInteger", 10, kLast, 2, 4, 1, matMulInteger},
    {"ConvInteger", 10, kLast, 2, 4, 1, convInteger},
    {"QLinearMatMul", 10, kLast, 8, 8, 1, qLinearMatMul},
    {"QLinearConv", 10, kLast, 8, 9, 1, qLinearConv},
};

}  // namespace

llvm::ArrayRef<OpRow> quantOps() { return kQuantOps; }

}  // namespace graphrun::frontends
