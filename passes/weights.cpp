#include "passes/weights.h"

#include <cmath>
#include <cstring>

#include "ir/cost.h"
#include "ir/dialect.h"
#include "ir/folding.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/quantized_forms.h"

namespace graphrun::passes {
namespace {

constexpr size_t kAlignment = 64;

/// DenseElementsAttr packs bools into bits; files hold a byte for each.
ElementBytes bytesOfBools(mlir::DenseElementsAttr value) {
  ElementBytes result;
  result.splat = value.isSplat();
  result.owned = std::make_shared<std::vector<char>>();
  if (result.splat) {
    result.owned->push_back(value.getSplatValue<bool>() ? 1 : 0);
  } else {
    for (bool element : value.getValues<bool>()) {
      result.owned->push_back(element ? 1 : 0);
    }
  }
  result.bytes = *result.owned;
  return result;
}

/// Reads one number of a floating-point type.
class FloatReader {
 public:
  explicit FloatReader(mlir::FloatType type) : semantics_(type.getFloatSemantics()) {
    width_ = type.getWidth() / 8;
  }
  unsigned width() const { return width_; }

  double read(const char* from) const {
    if (width_ == sizeof(float)) {
      float value;
      std::memcpy(&value, from, sizeof(value));
      return value;
    }
    if (width_ == sizeof(double)) {
      double value;
      std::memcpy(&value, from, sizeof(value));
      return value;
    }
    uint16_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    llvm::APFloat value(semantics_, llvm::APInt(16, bits));
    bool inexact = false;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  }

 private:
  const llvm::fltSemantics& semantics_;
  unsigned width_ = 0;
};

void write(mlir::FloatType type, double value, char* to) {
  if (type.isF32()) {
    auto rounded = static_cast<float>(value);
    std::memcpy(to, &rounded, sizeof(rounded));
    return;
  }
  llvm::APFloat rounded(value);
  bool inexact = false;
  rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  uint64_t bits = rounded.bitcastToAPInt().getZExtValue();
  std::memcpy(to, &bits, type.getWidth() / 8);
}

double rounded(mlir::FloatType type, double value) {
  if (type.isF32()) {
    return static_cast<float>(value);
  }
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

/// For element types that no dense attribute holds. One element stands for all.
mlir::ElementsAttr resourceOf(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                              int64_t size) {
  mlir::AsmResourceBlob blob =
      mlir::HeapAsmResourceBlob::allocate(size, kAlignment, /*dataIsMutable=*/true);
  llvm::MutableArrayRef<char> all = blob.getMutableData();
  for (size_t at = 0; at < all.size(); at += bytes.size()) {
    llvm::copy(bytes, all.begin() + at);
  }
  return mlir::DenseResourceElementsAttr::get(type, "constant", std::move(blob));
}

bool isReadable(mlir::Type element) {
  auto type = llvm::dyn_cast<mlir::FloatType>(element);
  return type && (type.isF64() || type.isF32() || type.isF16() || type.isBF16());
}

}  // namespace

std::optional<ElementBytes> bytesOf(mlir::ElementsAttr value) {
  if (auto dense = llvm::dyn_cast<mlir::DenseIntOrFPElementsAttr>(value)) {
    if (dense.empty()) {
      return ElementBytes{{}, false, nullptr};  // a splat without elements has data all the same
    }
    if (dense.getElementType().isInteger(1)) {
      return bytesOfBools(dense);
    }
    return ElementBytes{dense.getRawData(), dense.isSplat(), nullptr};
  }
  auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value);
  const mlir::AsmResourceBlob* blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  if (blob == nullptr ||
      static_cast<int64_t>(blob->getData().size()) != ir::byteSize(resource.getType())) {
    return std::nullopt;
  }
  return ElementBytes{blob->getData(), false, nullptr};
}

mlir::ElementsAttr elementsFrom(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes) {
  auto size = static_cast<int64_t>(bytes.size());
  int64_t whole = ir::byteSize(type);
  if (size != whole && size * type.getNumElements() != whole) {
    return nullptr;
  }
  if (!type.getElementType().isIntOrFloat()) {
    return resourceOf(type, bytes, whole);
  }
  if (type.getNumElements() == 0) {
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  }
  if (type.getElementType().isInteger(1)) {
    llvm::SmallVector<bool> bools;
    llvm::transform(bytes, std::back_inserter(bools), [](char byte) { return byte != 0; });
    return mlir::DenseElementsAttr::get(type, bools);
  }
  if (ir::elementBits(type.getElementType()) < 8) {  // the bits above an element's are 0
    std::vector<char> clean(bytes.begin(), bytes.end());
    llvm::for_each(clean, [mask = (1 << type.getElementTypeBitWidth()) - 1](char& byte) {
      byte = static_cast<char>(byte & mask);
    });
    return mlir::DenseElementsAttr::getFromRawBuffer(type, clean);
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
}

mlir::ElementsAttr constantOf(mlir::Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  return constant ? constant.getValue() : nullptr;
}

mlir::Value outsideGroup(mlir::Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  auto group = argument ? llvm::dyn_cast<ir::GroupOp>(argument.getOwner()->getParentOp()) : nullptr;
  return group ? group.getInputs()[argument.getArgNumber()] : value;
}

ir::ConstantOp weightOf(mlir::Value value) {
  value = outsideGroup(value);
  mlir::Operation* op = value.getDefiningOp();
  if (!llvm::isa_and_nonnull<ir::CastOp, ir::MulOp>(op)) {
    return llvm::dyn_cast_or_null<ir::ConstantOp>(op);
  }
  if (auto cast = llvm::dyn_cast<ir::CastOp>(op); cast && cast.getTo().isBF16()) {
    auto input = outsideGroup(cast.getInput()).getDefiningOp<ir::ConstantOp>();
    if (input && mlir::getElementTypeOrSelf(input.getType()).isF32()) {
      return input;
    }
  }
  std::optional<DequantizedFloats> floats = dequantizedFloatsOf(value);
  return floats ? floats->elements.getDefiningOp<ir::ConstantOp>() : nullptr;
}

bool isWeight(mlir::Operation* op) {
  return llvm::isa<ir::ConstantOp, ir::CastOp, ir::MulOp>(op) && weightOf(op->getResult(0));
}

std::optional<std::vector<double>> floatsOf(mlir::ElementsAttr value) {
  if (!value || !isReadable(value.getElementType())) {
    return std::nullopt;
  }
  std::optional<ElementBytes> raw = bytesOf(value);
  if (!raw) {
    return std::nullopt;
  }
  FloatReader reader(llvm::cast<mlir::FloatType>(value.getElementType()));
  std::vector<double> values(value.getNumElements());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = reader.read(raw->bytes.data() + (raw->splat ? 0 : i * reader.width()));
  }
  return values;
}

std::optional<double> numberOf(mlir::ElementsAttr value) {
  std::optional<std::vector<double>> all = floatsOf(value);
  return all && !all->empty() && llvm::all_equal(*all) ? std::optional(all->front()) : std::nullopt;
}

mlir::ElementsAttr makeFloats(mlir::RankedTensorType type, llvm::ArrayRef<double> values,
                              llvm::StringRef name) {
  if (type.getNumElements() <= kMaxInlineElements) {
    return ir::makeFloats(type, values);
  }
  auto element = llvm::cast<mlir::FloatType>(type.getElementType());
  mlir::AsmResourceBlob blob =
      mlir::HeapAsmResourceBlob::allocate(ir::byteSize(type), kAlignment, /*dataIsMutable=*/true);
  char* to = blob.getMutableData().data();
  for (double value : values) {
    write(element, value, to);
    to += element.getWidth() / 8;
  }
  return mlir::DenseResourceElementsAttr::get(type, name.empty() ? "weight" : name,
                                              std::move(blob));
}

double roundoffOf(mlir::Type element) {
  auto type = llvm::dyn_cast<mlir::FloatType>(element);
  return type ? std::ldexp(1.0, -static_cast<int>(type.getFPMantissaWidth())) : 0;
}

bool keepsPrecision(double value, mlir::Type element) {
  auto type = llvm::dyn_cast<mlir::FloatType>(element);
  if (value == 0 || !type || !std::isfinite(value)) {
    return type && value == 0;
  }
  if (type.isF64()) {
    return std::isnormal(value);
  }
  double kept = rounded(type, value);
  return std::isfinite(kept) && std::abs(kept - value) <= roundoffOf(type) * std::abs(value);
}

bool isNumber(mlir::Value value, double number) {
  auto constant = llvm::dyn_cast_or_null<mlir::DenseIntOrFPElementsAttr>(constantOf(value));
  if (!constant || (!constant.isSplat() && constant.getNumElements() > kMaxInlineElements)) {
    return false;
  }
  // A splat is looked at once, however large.
  std::optional<std::vector<double>> values = floatsOf(
      constant.isSplat()
          ? constant.resizeSplat(mlir::RankedTensorType::get({}, constant.getElementType()))
          : constant);
  if (!values || values->empty()) {
    return false;
  }
  double wanted = rounded(llvm::cast<mlir::FloatType>(constant.getElementType()), number);
  return llvm::all_of(*values, [&](double element) { return element == wanted; });
}

}  // namespace graphrun::passes
