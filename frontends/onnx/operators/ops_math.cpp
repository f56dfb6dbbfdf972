// Arithmetic, comparisons and matrix products.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"
#include "frontends/onnx/operators/conversion.h"
#include "frontends/onnx/tensors.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::frontends {
namespace {

/// Integers, which the first version takes, are computed in f32 and truncated.
Values erf(Node& node) {
  mlir::Value x = node.input(0);
  if (x && node.elementOf(x).isInteger()) {
    x = castTo(node, x, node.builder().getF32Type());
  }
  return {castLike(node, node.emit("gr.erf", {x}), node.input(0))};
}

/// The right operand of a binary operation. Before opset 7 it lies at `axis` of the left one's
/// dims, which trailing dims of 1 express.
mlir::Value rightOperand(Node& node) {
  mlir::Value rhs = node.input(1);
  if (node.opset() >= 7) {
    return rhs;
  }
  node.attributes().ignore({"broadcast", "consumed_inputs"});
  bool hasAxis = node.attributes().has("axis");
  int64_t given = node.attributes().integer("axis", 0);
  if (!hasAxis) {
    return rhs;
  }
  std::optional<int64_t> left = node.rankOf(node.input(0));
  std::optional<int64_t> right = node.rankOf(rhs);
  std::optional<int64_t> axis = left && right ? node.axisOf(given, *left) : std::nullopt;
  if (!axis) {
    return nullptr;
  }
  if (*axis + *right > *left) {
    return node.fail(absl::StrCat("axis ", given, " leaves no room for a right operand of rank ",
                                  *right, " in a left one of rank ", *left));
  }
  llvm::SmallVector<int64_t> trailing;
  for (int64_t i = *axis + *right; i < *left; ++i) {
    trailing.push_back(i - *axis);
  }
  return trailing.empty() ? rhs
                          : node.emit("gr.unsqueeze", {rhs}, {node.integers("axes", trailing)});
}

Values binary(Node& node) {
  return {node.emit(node.target(), {node.input(0), rightOperand(node)})};
}

/// Greater is Less with its operands swapped.
Values swapped(Node& node) {
  return {node.emit(node.target(), {rightOperand(node), node.input(0)})};
}

mlir::Value foldLeft(Node& node, llvm::StringRef operation) {
  mlir::Value value = node.input(0);
  for (mlir::Value next : llvm::drop_begin(node.inputs())) {
    value = node.emit(operation, {value, next});
  }
  return value;
}

Values variadic(Node& node) {
  ignoreConsumed(node);
  return {foldLeft(node, node.target())};
}

Values mean(Node& node) {
  ignoreConsumed(node);
  mlir::Value sum = foldLeft(node, "gr.add");
  auto count = static_cast<double>(node.inputs().size());
  return {node.emit("gr.div", {sum, node.scalarLike(sum, count)})};
}

/// Since opset 12 the exponent may have another type; the result has the base's. An integer base
/// with a fractional exponent is computed in the exponent's type.
Values power(Node& node) {
  mlir::Value base = node.input(0);
  mlir::Value exponent = rightOperand(node);
  if (!exponent) {
    return {nullptr};
  }
  mlir::Type type = node.elementOf(base);
  bool fractional = llvm::isa<mlir::FloatType>(node.elementOf(exponent));
  mlir::Type common =
      fractional && !llvm::isa<mlir::FloatType>(type) ? node.elementOf(exponent) : type;
  mlir::Value result =
      node.emit("gr.pow", {castTo(node, base, common), castTo(node, exponent, common)});
  return {castTo(node, result, type)};
}

/// Returns the type that Cast converts to: a number of TensorProto.DataType, before opset 6 its
/// name.
int32_t castTarget(Node& node) {
  if (node.opset() >= 6) {
    return static_cast<int32_t>(node.attributes().integer("to", 0));
  }
  std::string name = node.attributes().text("to", "");
  ::onnx::TensorProto::DataType dataType = ::onnx::TensorProto::UNDEFINED;
  ::onnx::TensorProto::DataType_Parse(name, &dataType);
  return dataType;
}

Values cast(Node& node) {
  if (!node.attributes().require("to")) {
    return {nullptr};
  }
  int32_t dataType = castTarget(node);
  mlir::Type type = elementType(node.builder().getContext(), dataType);
  if (!type) {
    return {node.fail(absl::StrCat("attribute \"to\": ", unsupportedType(dataType)))};
  }
  return {converted(node, node.input(0), type)};
}

Values castLike(Node& node) {
  return {converted(node, node.input(0), node.elementOf(node.input(1)))};
}

Values mod(Node& node) {
  int64_t fmod = node.attributes().integer("fmod", 0);
  if (fmod != 0 && fmod != 1) {
    return {node.fail(absl::StrCat("fmod is ", fmod, ", expected 0 or 1"))};
  }
  return {
      node.emit("gr.mod", {node.input(0), node.input(1)}, {node.boolean("truncate", fmod == 1)})};
}

/// The value of a constant of one element that a double holds exactly.
std::optional<double> exactConstant(mlir::Value value) {
  mlir::DenseElementsAttr attr;
  if (!mlir::matchPattern(value, mlir::m_Constant(&attr)) || attr.getNumElements() != 1) {
    return std::nullopt;
  }
  if (llvm::isa<mlir::FloatType>(attr.getElementType())) {
    llvm::APFloat number = *attr.getValues<llvm::APFloat>().begin();
    bool inexact = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number.convertToDouble();
  }
  llvm::APInt number = *attr.getValues<llvm::APInt>().begin();
  bool exact = number.getSignificantBits() <= 53 && number.getActiveBits() <= 53;
  return exact && !attr.getElementType().isUnsignedInteger()
             ? std::optional(static_cast<double>(number.getSExtValue()))
             : std::nullopt;
}

/// Bounds that are constants of floating-point type become attributes; a bound left out is
/// infinite.
Values clip(Node& node) {
  mlir::Value input = node.input(0);
  std::optional<double> low = -INFINITY, high = INFINITY;
  if (node.opset() < 11) {
    ignoreConsumed(node);
    double largest = node.opset() < 6 ? INFINITY : std::numeric_limits<float>::max();
    low = node.attributes().real("min", -largest);
    high = node.attributes().real("max", largest);
  } else {
    low = node.input(1) ? exactConstant(node.input(1)) : low;
    high = node.input(2) ? exactConstant(node.input(2)) : high;
  }
  if (low && high && llvm::isa<mlir::FloatType>(node.elementOf(input))) {
    return {node.emit("gr.clip", {input}, {node.real("low", *low), node.real("high", *high)})};
  }
  input = node.input(1) ? node.emit("gr.max", {input, node.input(1)}) : input;
  return {node.input(2) ? node.emit("gr.min", {input, node.input(2)}) : input};
}

/// `value * factor`, or `value` itself when the factor is 1.
mlir::Value scaled(Node& node, mlir::Value value, double factor) {
  if (factor == 1 || !value) {
    return value;
  }
  if (!llvm::isa<mlir::FloatType>(node.elementOf(value)) && factor != std::floor(factor)) {
    return node.fail(
        absl::StrCat("alpha and beta of an integer product must be whole, got ", factor));
  }
  return node.emit("gr.mul", {value, node.scalarLike(value, factor)});
}

Values gemm(Node& node) {
  Attributes& attributes = node.attributes();
  attributes.ignore({"broadcast"});
  double alpha = attributes.real("alpha", 1);
  double beta = attributes.real("beta", 1);
  bool transA = attributes.integer("transA", 0) != 0;
  bool transB = attributes.integer("transB", 0) != 0;
  for (size_t i = 0; i < 2; ++i) {
    std::optional<int64_t> rank = node.rankOf(node.input(i));
    if (rank && *rank != 2) {
      return {node.fail(absl::StrCat("input ", i, " is of rank ", *rank, ", expected a matrix"))};
    }
  }
  mlir::Value product =
      node.emit("gr.matmul", {node.input(0), node.input(1)},
                {node.boolean("transpose_lhs", transA), node.boolean("transpose_rhs", transB)});
  product = scaled(node, product, alpha);
  if (!node.input(2) || beta == 0) {
    return {product};
  }
  mlir::Value sum = node.emit("gr.add", {product, scaled(node, node.input(2), beta)});
  std::optional<int64_t> rank = node.rankOf(sum);
  if (rank && *rank != 2) {
    return {node.fail(absl::StrCat("input 2 makes the result of rank ", *rank,
                                   ", expected one that broadcasts to the product's matrix"))};
  }
  return {sum};
}

Values where(Node& node) {
  return {node.emit("gr.where", {node.input(0), node.input(1), node.input(2)})};
}

const OpRow kMathOps[] = {
    {"Erf", 9, kLast, 1, 1, 1, erf},
    {"Greater", 1, kLast, 2, 2, 1, swapped, "gr.less"},
    {"GreaterOrEqual", 12, kLast, 2, 2, 1, swapped, "gr.less_equal"},
    {"Mod", 10, kLast, 2, 2, 1, mod},
    {"Pow", 1, kLast, 2, 2, 1, power},
    {"Max", 1, kLast, 1, kMany, 1, variadic, "gr.max"},
    {"Min", 1, kLast, 1, kMany, 1, variadic, "gr.min"},
    {"Sum", 1, kLast, 1, kMany, 1, variadic, "gr.add"},
    {"Mean", 1, kLast, 1, kMany, 1, mean},
    {"Where", 9, kLast, 3, 3, 1, where},
    {"Cast", 1, kLast, 1, 1, 1, cast},
    {"CastLike", 15, kLast, 2, 2, 1, castLike},
    {"Clip", 1, 10, 1, 1, 1, clip},
    {"Clip", 11, kLast, 1, 3, 1, clip},
    {"MatMul", 1, kLast, 2, 2, 1, binary, "gr.matmul"},
    {"Gemm", 1, 10, 3, 3, 1, gemm},
    {"Gemm", 11, kLast, 2, 3, 1, gemm},
};

}  // namespace

llvm::ArrayRef<OpRow> mathOps() { return kMathOps; }

llvm::ArrayRef<OpRow> elementwiseOps() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all = {
#define GR_UNARY(Class, name, builder, rule, flops, onnx, since) \
  {onnx, since, kLast, 1, 1, 1, unary, "gr." #name},
#define GR_BINARY(Class, name, builder, rule, flops, onnx, since, neutral) \
  {onnx, since, kLast, 2, 2, 1, binary, "gr." #name},
#include "devices/functions/elementwise.def"
    };
    llvm::erase_if(all, [](const OpRow& row) { return *row.name == 0; });
    return all;
  }();
  return rows;
}

}  // namespace graphrun::frontends
