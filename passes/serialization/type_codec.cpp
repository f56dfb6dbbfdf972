#include "passes/serialization/type_codec.h"

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "runtime/base/status.h"

namespace graphrun::passes {
namespace {

using runtime::ElementType;

constexpr size_t kMaxExpression = 256;  // bytes; bounds the depth that the parser can reach

std::string textOf(mlir::AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// Divides only by positive constants.
bool isWellFormed(mlir::AffineExpr expr) {
  bool good = true;
  expr.walk([&](mlir::AffineExpr part) {
    auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(part);
    bool divides = binary && (part.getKind() == mlir::AffineExprKind::FloorDiv ||
                              part.getKind() == mlir::AffineExprKind::CeilDiv ||
                              part.getKind() == mlir::AffineExprKind::Mod);
    if (divides) {
      auto divisor = llvm::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
      good &= divisor && divisor.getValue() > 0;
    }
  });
  return good;
}

/// Parses "s0 floordiv 2" over `symbols` symbols.
absl::StatusOr<mlir::AffineExpr> parseExpr(const std::string& text, size_t symbols,
                                           mlir::MLIRContext* context) {
  auto bad = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("symbolic dim '", text.substr(0, 80), "' ", why));
  };
  if (text.size() > kMaxExpression) {
    return bad(absl::StrCat("has ", text.size(), " bytes, expected at most ", kMaxExpression));
  }
  std::string map = "affine_map<()[";
  for (size_t i = 0; i < symbols; ++i) {
    absl::StrAppend(&map, i == 0 ? "s" : ", s", i);
  }
  mlir::ScopedDiagnosticHandler quiet(context, [](mlir::Diagnostic&) { return mlir::success(); });
  auto parsed = llvm::dyn_cast_or_null<mlir::AffineMapAttr>(
      mlir::parseAttribute(absl::StrCat(map, "] -> (", text, ")>"), context));
  if (!parsed || parsed.getValue().getNumResults() != 1 || parsed.getValue().getNumDims() != 0 ||
      !isWellFormed(parsed.getValue().getResult(0))) {
    return bad(absl::StrCat("is not one affine expression over ", symbols, " symbols"));
  }
  return parsed.getValue().getResult(0);
}

absl::StatusOr<ir::Dim> importDim(const format::TensorType& type, uint32_t i, size_t symbols,
                                  mlir::MLIRContext* context) {
  int64_t value = type.dims()->Get(i);
  const flatbuffers::String* text = type.symbolic() != nullptr ? type.symbolic()->Get(i) : nullptr;
  if (value < -1) {
    return absl::InvalidArgumentError(absl::StrCat("dim ", i, " is ", value, ", expected >= -1"));
  }
  if (text == nullptr || text->size() == 0) {
    return value < 0 ? ir::Dim() : ir::Dim(value);
  }
  GR_ASSIGN_OR_RETURN(mlir::AffineExpr expr, parseExpr(text->str(), symbols, context));
  if (value >= 0 || llvm::isa<mlir::AffineConstantExpr>(expr)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dim ", i, " is both a number and symbolic, expected one of the two"));
  }
  return ir::Dim::symbolic(expr);
}

/// MLIR's type of a floating-point one; the last four are our dialect's own, which MLIR 19 lacks.
mlir::Type floatType(ElementType type, mlir::MLIRContext* context) {
  switch (type) {
    case ElementType::kF64:
      return mlir::Float64Type::get(context);
    case ElementType::kF32:
      return mlir::Float32Type::get(context);
    case ElementType::kF16:
      return mlir::Float16Type::get(context);
    case ElementType::kBF16:
      return mlir::BFloat16Type::get(context);
    case ElementType::kF8E4M3FN:
      return mlir::Float8E4M3FNType::get(context);
    case ElementType::kF8E4M3FNUZ:
      return mlir::Float8E4M3FNUZType::get(context);
    case ElementType::kF8E5M2:
      return mlir::Float8E5M2Type::get(context);
    case ElementType::kF8E5M2FNUZ:
      return mlir::Float8E5M2FNUZType::get(context);
    case ElementType::kF8E8M0:
      return ir::F8E8M0Type::get(context);
    case ElementType::kF4E2M1:
      return ir::F4E2M1Type::get(context);
    case ElementType::kF6E2M3:
      return ir::F6E2M3Type::get(context);
    case ElementType::kF6E3M2:
      return ir::F6E3M2Type::get(context);
    default:
      return nullptr;
  }
}

/// Explicitly signed integers are taken for signless ones.
mlir::Type withoutSign(mlir::Type type) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  return integer && integer.isSigned() && integer.getWidth() > 1
             ? mlir::IntegerType::get(type.getContext(), integer.getWidth())
             : type;
}

}  // namespace

ElementType elementTypeOf(mlir::Type type) {
  for (uint8_t i = 1; type && i < runtime::kElementTypeCount; ++i) {
    auto element = static_cast<ElementType>(i);
    if (elementTypeOf(element, type.getContext()) == withoutSign(type)) {
      return element;
    }
  }
  return ElementType::kInvalid;
}

mlir::Type elementTypeOf(ElementType type, mlir::MLIRContext* context) {
  const runtime::ElementTypeInfo& info = runtime::elementTypeInfo(type);
  switch (info.kind) {
    case runtime::NumberKind::kNone:
      return nullptr;
    case runtime::NumberKind::kFloat:
      return floatType(type, context);
    case runtime::NumberKind::kBool:
      return mlir::IntegerType::get(context, 1);
    case runtime::NumberKind::kSigned:
      return mlir::IntegerType::get(context, info.bits);
    case runtime::NumberKind::kUnsigned:
      return mlir::IntegerType::get(context, info.bits, mlir::IntegerType::Unsigned);
    case runtime::NumberKind::kText:
      return ir::StringType::get(context);
  }
  return nullptr;
}

absl::StatusOr<flatbuffers::Offset<format::TensorType>> exportType(
    mlir::Type type, flatbuffers::FlatBufferBuilder& builder) {
  if (type == ir::placeholderType(type.getContext())) {
    return format::CreateTensorType(builder, format::ElementType::Invalid, /*ranked=*/false);
  }
  if (ir::isSequence(type)) {
    bool optional = type == ir::sequenceType(type.getContext(), /*optional=*/true);
    return format::CreateTensorType(
        builder, format::ElementType::Invalid, /*ranked=*/false, 0, 0,
        optional ? format::ValueKind::Optional : format::ValueKind::Sequence);
  }
  auto tensor = llvm::dyn_cast<mlir::TensorType>(type);
  ElementType element = elementTypeOf(tensor ? tensor.getElementType() : type);
  if (element == ElementType::kInvalid) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return absl::InvalidArgumentError(absl::StrCat("type ", text, " cannot be stored in a file"));
  }
  auto fileElement = static_cast<format::ElementType>(element);
  if (tensor && !tensor.hasRank()) {
    return format::CreateTensorType(builder, fileElement, /*ranked=*/false);
  }
  std::vector<int64_t> dims;
  std::vector<std::string> symbolic;
  bool anySymbolic = false;
  for (const ir::Dim& dim : tensor ? *ir::dimsOf(type) : ir::Dims()) {
    bool isSymbolic = !dim.isStatic() && !dim.isUnknown();
    anySymbolic |= isSymbolic;
    dims.push_back(dim.isStatic() ? dim.value() : -1);
    symbolic.push_back(isSymbolic ? textOf(dim.expr(nullptr)) : "");
  }
  auto dimsOffset = builder.CreateVector(dims);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> symbols;
  if (anySymbolic) {
    symbols = builder.CreateVectorOfStrings(symbolic);
  }
  return format::CreateTensorType(builder, fileElement, /*ranked=*/true, dimsOffset, symbols);
}

absl::StatusOr<mlir::TensorType> importType(const format::TensorType& type, size_t symbols,
                                            mlir::MLIRContext* context) {
  if (type.kind() != format::ValueKind::Tensor) {
    return llvm::cast<mlir::TensorType>(
        ir::sequenceType(context, type.kind() == format::ValueKind::Optional));
  }
  if (type.element() == format::ElementType::Invalid && !type.ranked()) {
    return llvm::cast<mlir::TensorType>(ir::placeholderType(context));
  }
  mlir::Type element = elementTypeOf(static_cast<ElementType>(type.element()), context);
  if (!element) {
    return absl::InvalidArgumentError(
        absl::StrCat("element type is ", static_cast<int>(type.element()), ", which is none"));
  }
  if (!type.ranked()) {
    return mlir::UnrankedTensorType::get(element);
  }
  size_t rank = type.dims() == nullptr ? 0 : type.dims()->size();
  if (rank > kMaxRank || (type.symbolic() != nullptr && type.symbolic()->size() != rank)) {
    return absl::InvalidArgumentError(absl::StrCat("type is of rank ", rank, ", expected at most ",
                                                   kMaxRank, " and a symbolic dim for each"));
  }
  ir::Dims dims;
  for (uint32_t i = 0; i < rank; ++i) {
    GR_ASSIGN_OR_RETURN(ir::Dim dim, importDim(type, i, symbols, context));
    dims.push_back(dim);
  }
  return ir::tensorType(dims, element);
}

}  // namespace graphrun::passes
