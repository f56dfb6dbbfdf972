#include "frontends/builder/constants.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "ir/folding.h"
#include "llvm/Support/JSON.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "passes/serialization/type_codec.h"
#include "passes/weights.h"
#include "runtime/base/reduced.h"

namespace graphrun::builder {
namespace {

std::string elementName(mlir::Type element) {
  return std::string(runtime::elementTypeName(passes::elementTypeOf(element)));
}

bool fits(int64_t value, mlir::IntegerType type) {
  unsigned width = type.getWidth();
  if (width == 1) {
    return value == 0 || value == 1;
  }
  if (type.isUnsigned()) {
    return value >= 0 && (width == 64 || value < int64_t{1} << width);
  }
  return width == 64 ||
         (value >= -(int64_t{1} << (width - 1)) && value < int64_t{1} << (width - 1));
}

/// Stores one value of an element type that no dense attribute holds.
mlir::ElementsAttr storedSplat(Scalar value, mlir::RankedTensorType type, std::string& problem) {
  ElementType element = passes::elementTypeOf(type.getElementType());
  uint8_t bits = runtime::encodeReduced(element, value.number());
  if (runtime::decodeReduced(element, bits) != value.number()) {
    problem = absl::StrCat("the number ", value.number(), " is no value of type ",
                           runtime::elementTypeName(element), "; use another number");
    return nullptr;
  }
  return passes::elementsFrom(type, {static_cast<char>(bits)});
}

bool isSmall(int64_t elements) { return elements <= passes::kMaxInlineElements; }

}  // namespace

mlir::ElementsAttr splatOf(Scalar value, mlir::RankedTensorType type, std::string& problem) {
  mlir::Type element = type.getElementType();
  if (ir::isStrings(element)) {
    problem = "a number is no string; give the constant as a HostTensor of strings";
    return nullptr;
  }
  if (!element.isIntOrFloat()) {
    return storedSplat(value, type, problem);
  }
  if (llvm::isa<mlir::FloatType>(element)) {
    return ir::makeFloats(type, {value.number()});
  }
  bool exact = value.isInteger() || std::abs(value.number()) < 0x1p63;
  int64_t integer = value.isInteger() ? value.integer()
                    : exact           ? static_cast<int64_t>(value.number())
                                      : 0;
  exact = exact && (value.isInteger() || static_cast<double>(integer) == value.number());
  if (!exact || !fits(integer, llvm::cast<mlir::IntegerType>(element))) {
    problem = absl::StrCat("the number ", value.number(), " is no value of type ",
                           elementName(element), "; cast the tensor, or use another number");
    return nullptr;
  }
  return ir::makeInts(type, {integer});
}

mlir::ElementsAttr elementsOf(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                              const std::string& label) {
  std::vector<char> bools;
  if (type.getElementType().isInteger(1)) {
    llvm::transform(bytes, std::back_inserter(bools), [](char byte) { return byte != 0 ? 1 : 0; });
    bytes = bools;
  }
  return isSmall(type.getNumElements()) ? passes::elementsFrom(type, bytes)
                                        : mlir::DenseResourceElementsAttr::get(
                                              type, label,
                                              mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(
                                                  bytes, runtime::kTensorAlignment));
}

ConstantMaker::ConstantMaker(GraphImpl& graph, const At& at, Kind kind)
    : graph_(graph),
      kind_(kind),
      what_(kind == Kind::kConstant ? "constant" : "state"),
      label_(graph.label(what_, at)),
      source_(at.location) {}

Tensor ConstantMaker::problem(const std::string& message) {
  graph_.report(source_, absl::StrCat(what_, " '", label_, "'"), message);
  return graph_.failed();
}

bool ConstantMaker::check(const runtime::TensorSpec& spec) {
  absl::Status status = runtime::checkedByteSize(spec.type, spec.dims).status();
  if (status.ok() && spec.dims.size() > passes::kMaxRank) {
    status = absl::InvalidArgumentError(absl::StrCat("tensor is of rank ", spec.dims.size(),
                                                     ", expected at most ", passes::kMaxRank));
  }
  if (!status.ok()) {
    problem(std::string(status.message()));
  }
  return status.ok();
}

bool ConstantMaker::checkSize(const runtime::TensorSpec& spec, size_t bytes) {
  if (!check(spec)) {
    return false;
  }
  size_t size = runtime::elementSize(spec.type);
  if (bytes != spec.byteSize()) {
    problem(absl::StrCat("has ", bytes / size, " values, expected ", spec.elementCount(), " for ",
                         spec.toString()));
    return false;
  }
  return true;
}

mlir::RankedTensorType ConstantMaker::typeOf(const runtime::TensorSpec& spec) {
  return mlir::RankedTensorType::get(spec.dims, graph_.elementType(spec.type));
}

Tensor ConstantMaker::finish(mlir::ElementsAttr value) {
  return graph_.tensorOf(
      kind_ == Kind::kConstant
          ? graph_.constant(value, label_, source_)
          : graph_.state(value, label_, source_, /*isParameter=*/kind_ == Kind::kParameter));
}

Tensor ConstantMaker::copy(const runtime::TensorSpec& spec, const void* data, size_t bytes) {
  if (!checkSize(spec, bytes)) {
    return graph_.failed();
  }
  return finish(elementsOf(typeOf(spec), {static_cast<const char*>(data), bytes}, label_));
}

Tensor ConstantMaker::take(HostTensor&& value) {
  runtime::TensorSpec spec = value.spec();
  if (!check(spec)) {
    return graph_.failed();
  }
  if (spec.type == ElementType::kString) {
    llvm::SmallVector<llvm::StringRef> strings(value.strings().begin(), value.strings().end());
    for (llvm::StringRef string : strings) {
      if (!llvm::json::isUTF8(string)) {
        return problem("holds a string that is not valid UTF-8");
      }
    }
    return finish(ir::makeStrings(typeOf(spec), strings));
  }
  if (spec.type == ElementType::kBool || isSmall(spec.elementCount())) {
    return copy(spec, value.data(), value.byteSize());
  }
  llvm::ArrayRef<char> bytes(static_cast<const char*>(value.data()), value.byteSize());
  return keep(spec, bytes, runtime::kTensorAlignment,
              std::make_unique<HostTensor>(std::move(value)));
}

Tensor ConstantMaker::view(const runtime::TensorSpec& spec, absl::Span<const uint8_t> bytes,
                           std::shared_ptr<const void> owner) {
  if (!check(spec)) {
    return graph_.failed();
  }
  // What is not aligned, or not of 0 and 1 as bools are, cannot stay as it is.
  size_t size = runtime::elementSize(spec.type);
  bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % size == 0;
  if (!aligned || spec.type == ElementType::kBool || isSmall(spec.elementCount())) {
    return copy(spec, bytes.data(), bytes.size());
  }
  return keep(spec, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, size,
              std::move(owner));
}

template <typename Owner>
Tensor ConstantMaker::keep(const runtime::TensorSpec& spec, llvm::ArrayRef<char> bytes,
                           size_t alignment, Owner owner) {
  mlir::AsmResourceBlob blob(
      bytes, alignment, [owner = std::move(owner)](void*, size_t, size_t) {},
      /*dataIsMutable=*/false);
  return finish(mlir::DenseResourceElementsAttr::get(typeOf(spec), label_, std::move(blob)));
}

Tensor ConstantMaker::scalar(Scalar value, ElementType type) {
  runtime::TensorSpec spec{type, {}};
  if (!check(spec)) {
    return graph_.failed();
  }
  std::string why;
  mlir::ElementsAttr splat = splatOf(value, typeOf(spec), why);
  return splat ? finish(splat) : problem(why);
}

Tensor ConstantMaker::weight(const runtime::TensorSpec& spec, const Initializer& initializer) {
  if (!check(spec)) {
    return graph_.failed();
  }
  if (!runtime::isFloat(spec.type)) {
    return problem(
        absl::StrCat("is a weight of ", spec.toString(), ", expected a floating-point type"));
  }
  if (initializer.isConstant()) {
    return finish(ir::makeFloats(typeOf(spec), {initializer.constant()}));
  }
  return finish(passes::makeFloats(typeOf(spec), initializer.values(spec.dims, label_), label_));
}

}  // namespace graphrun::builder
