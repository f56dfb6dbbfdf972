#include "frontends/onnx/graph_types.h"

#include "absl/strings/str_cat.h"
#include "frontends/onnx/tensors.h"
#include "ir/dialect.h"
#include "llvm/ADT/StringExtras.h"

namespace graphrun::frontends {
namespace {

using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;

const char* kindName(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType:
      return "tensor";
    case TypeProto::kSequenceType:
      return "sequence";
    case TypeProto::kMapType:
      return "map";
    case TypeProto::kOptionalType:
      return "optional";
    case TypeProto::kSparseTensorType:
      return "sparse tensor";
    default:
      return "missing";
  }
}

/// A dim of a declared shape as text: "3", "batch" or "?".
std::string dimText(const TensorShapeProto::Dimension& dim) {
  if (dim.has_dim_value()) {
    return absl::StrCat(dim.dim_value());
  }
  return dim.dim_param().empty() ? "?" : dim.dim_param();
}

/// Exporters write "?" for any dim that they do not know: such a text is no name.
bool isName(llvm::StringRef text) { return llvm::any_of(text, llvm::isAlpha); }

bool isList(const TypeProto& type) {
  return type.value_case() == TypeProto::kSequenceType ||
         type.value_case() == TypeProto::kOptionalType;
}

mlir::Type listType(mlir::MLIRContext* context, const TypeProto& type) {
  return ir::sequenceType(context, type.value_case() == TypeProto::kOptionalType);
}

std::string shapeText(const TensorShapeProto& shape) {
  std::string text;
  for (const auto& dim : shape.dim()) {
    absl::StrAppend(&text, text.empty() ? "" : "x", dimText(dim));
  }
  return text.empty() ? "scalar" : text;
}

}  // namespace

ir::Dim Symbols::dim(llvm::StringRef name) {
  auto [number, added] = numbers_.try_emplace(name, static_cast<unsigned>(names_.size()));
  if (added) {
    names_.push_back(name.str());
  }
  return ir::Dim::symbolic(mlir::getAffineSymbolExpr(number->second, context_));
}

mlir::Type inputType(mlir::MLIRContext* context, const ::onnx::ValueInfoProto& input,
                     Symbols& symbols, std::string& problem) {
  const TypeProto& type = input.type();
  if (isList(type)) {
    return listType(context, type);
  }
  if (type.value_case() != TypeProto::kTensorType) {
    problem = absl::StrCat("type is ", kindName(type), ", expected tensor, sequence or optional");
    return nullptr;
  }
  mlir::Type element = elementType(context, type.tensor_type().elem_type());
  if (!element) {
    problem = unsupportedType(type.tensor_type().elem_type());
    return nullptr;
  }
  if (!type.tensor_type().has_shape()) {
    return mlir::UnrankedTensorType::get(element);
  }
  ir::Dims dims;
  llvm::SmallVector<int64_t> known;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    // Some exporters write an unknown dim as -1.
    if (dim.has_dim_value() && dim.dim_value() != -1) {
      known.push_back(dim.dim_value());
      dims.push_back(ir::Dim(dim.dim_value()));
    } else if (isName(dim.dim_param())) {
      dims.push_back(symbols.dim(dim.dim_param()));
    } else {
      dims.push_back(symbols.dim(absl::StrCat(input.name(), ".", dims.size())));
    }
  }
  if (elementCount(known) < 0 || dims.size() > kMaxRank) {
    problem =
        absl::StrCat("shape is ", shapeText(type.tensor_type().shape()), ", expected at most ",
                     kMaxRank, " dims >= 0 of together at most ", kMaxElements, " elements");
    return nullptr;
  }
  return ir::tensorType(dims, element);
}

mlir::Type declaredType(mlir::MLIRContext* context, const TypeProto& declared) {
  if (isList(declared)) {
    return listType(context, declared);
  }
  mlir::Type element = declared.value_case() == TypeProto::kTensorType
                           ? elementType(context, declared.tensor_type().elem_type())
                           : nullptr;
  if (!element) {
    return ir::placeholderType(context);
  }
  const TensorShapeProto& shape = declared.tensor_type().shape();
  if (!declared.tensor_type().has_shape() || shape.dim_size() > kMaxRank) {
    return mlir::UnrankedTensorType::get(element);
  }
  ir::Dims dims;
  for (const auto& dim : shape.dim()) {
    bool isStatic = dim.has_dim_value() && dim.dim_value() >= 0;
    dims.push_back(isStatic ? ir::Dim(dim.dim_value()) : ir::Dim());
  }
  return ir::tensorType(dims, element);
}

std::string typeContradiction(const TypeProto& declared, mlir::Type actual) {
  if (declared.value_case() == TypeProto::VALUE_NOT_SET ||
      actual == ir::placeholderType(actual.getContext())) {
    return "";
  }
  if (isList(declared) && ir::isSequence(actual)) {
    return "";
  }
  auto tensor = llvm::cast<mlir::TensorType>(actual);
  if (declared.value_case() != TypeProto::kTensorType || ir::isSequence(actual)) {
    return absl::StrCat("is declared as ", kindName(declared), ", but is a ",
                        ir::isSequence(actual) ? "list" : "tensor");
  }
  int32_t dataType = declared.tensor_type().elem_type();
  if (dataType != 0 && elementType(actual.getContext(), dataType) != tensor.getElementType()) {
    std::string text;
    llvm::raw_string_ostream(text) << tensor.getElementType();
    return absl::StrCat("is declared as ", dataTypeName(dataType), ", but is ", text);
  }
  return "";
}

std::string shapeContradiction(const TypeProto& declared, mlir::Type actual) {
  std::optional<ir::Dims> dims = ir::isSequence(actual) ? std::nullopt : ir::dimsOf(actual);
  if (!dims || !declared.tensor_type().has_shape()) {
    return "";
  }
  const TensorShapeProto& shape = declared.tensor_type().shape();
  bool differs = shape.dim_size() != static_cast<int>(dims->size());
  for (size_t i = 0; !differs && i < dims->size(); ++i) {
    const auto& dim = shape.dim(static_cast<int>(i));
    differs = dim.has_dim_value() && dim.dim_value() >= 0 &&
              provablyDifferent(ir::Dim(dim.dim_value()), (*dims)[i]);
  }
  return differs ? absl::StrCat("is declared as ", shapeText(shape), ", but its shape is ",
                                ir::toString(*dims))
                 : "";
}

}  // namespace graphrun::frontends
