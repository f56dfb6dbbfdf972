#include "passes/quantized_forms.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "mlir/IR/TypeUtilities.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

mlir::Type elementOf(mlir::Value value) { return mlir::getElementTypeOrSelf(value.getType()); }

/// The constant behind operations that add or drop dims of 1.
mlir::Value withoutMovement(mlir::Value value) {
  while (llvm::isa_and_nonnull<ir::SqueezeOp, ir::UnsqueezeOp>(value.getDefiningOp())) {
    value = value.getDefiningOp()->getOperand(0);
  }
  return value;
}

std::optional<double> numberOf(mlir::Value value) {
  return passes::numberOf(constantOf(withoutMovement(value)));
}

/// Bytes times `scale` are floats of full precision, whichever bytes.
bool canScaleBytes(double scale) {
  constexpr double kMostBytes = 65536;
  return std::abs(scale) >= std::numeric_limits<float>::min() &&
         std::abs(scale) <= std::numeric_limits<float>::max() / kMostBytes;
}

/// `number` added to a float that is a byte is one that floats count exactly.
bool isWholeOffset(double number) {
  constexpr double kMostOffset = 1 << 20;
  return number == std::nearbyint(number) && std::abs(number) <= kMostOffset;
}

/// Scales from a constant that broadcasts to a tensor of `rank` and differs along one dim at most.
bool readScales(mlir::Value value, int64_t rank, Dequantized& result) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  std::optional<std::vector<double>> scales = floatsOf(constantOf(withoutMovement(value)));
  if (!type || !scales || scales->empty() || type.getRank() > rank ||
      !llvm::all_of(*scales, canScaleBytes)) {
    return false;
  }
  if (llvm::all_equal(*scales)) {
    result.scales = {scales->front()};
    return true;
  }
  result.scales = *std::move(scales);
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    if (size == static_cast<int64_t>(result.scales.size())) {
      result.axis = rank - type.getRank() + static_cast<int64_t>(d);
      return true;
    }
  }
  return false;
}

/// The whole number that `value` is.
std::optional<double> offsetOf(mlir::Value value) {
  std::optional<double> number = numberOf(value);
  return number && isWholeOffset(*number) ? number : std::nullopt;
}

/// `value`'s operand and the whole number that is added to it; `value` and 0 where that is no such
/// addition.
std::pair<mlir::Value, double> withoutOffset(mlir::Value value) {
  if (auto add = value.getDefiningOp<ir::AddOp>()) {
    if (std::optional<double> number = offsetOf(add.getRhs())) {
      return {add.getLhs(), *number};
    }
    if (std::optional<double> number = offsetOf(add.getLhs())) {
      return {add.getRhs(), *number};
    }
  }
  if (auto sub = value.getDefiningOp<ir::SubOp>()) {
    if (std::optional<double> number = offsetOf(sub.getRhs())) {
      return {sub.getLhs(), -*number};
    }
  }
  return {value, 0};
}

/// The same where several are added, one after the other, but not more than any form has.
std::pair<mlir::Value, double> withoutOffsets(mlir::Value value) {
  constexpr int kMostOffsets = 8;
  double sum = 0;
  for (int i = 0; i < kMostOffsets; ++i) {
    auto [inner, number] = withoutOffset(value);
    if (inner == value) {
      break;
    }
    value = inner;
    sum += number;
  }
  return {value, sum};
}

/// The number that a tensor of one element is.
std::optional<double> scalarOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  bool isOne = type && type.hasStaticShape() && type.getNumElements() == 1;
  return isOne ? numberOf(outsideGroup(value)) : std::nullopt;
}

/// Returns the value that a group yields as `value`, or `value` itself where no group makes it.
mlir::Value behindGroups(mlir::Value value) {
  value = outsideGroup(value);
  auto group = value.getDefiningOp<ir::GroupOp>();
  if (!group || group.getKind() != ir::GroupKind::kMap) {
    return value;
  }
  auto result = llvm::cast<mlir::OpResult>(value).getResultNumber();
  return group.getBody().front().getTerminator()->getOperand(result);
}

template <typename T>
std::vector<int64_t> elements(llvm::ArrayRef<char> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

}  // namespace

bool isByte(mlir::Type type) {
  return llvm::isa<mlir::IntegerType>(type) && type.getIntOrFloatBitWidth() == 8;
}

bool clipsToBytes(ir::ClipOp clip, mlir::Type bytes) {
  double low = bytes.isUnsignedInteger() ? 0 : -128;
  return clip.getLow().convertToDouble() == low && clip.getHigh().convertToDouble() == low + 255;
}

bool storesBytes(ir::CastOp cast) {
  auto clip = cast.getInput().getDefiningOp<ir::ClipOp>();
  return clip && isByte(cast.getTo()) && clipsToBytes(clip, cast.getTo()) &&
         withoutOffsets(clip.getInput()).first.getDefiningOp<ir::RoundOp>();
}

std::optional<Dequantized> dequantizedOf(mlir::Value value) {
  auto mul = value ? value.getDefiningOp<ir::MulOp>() : nullptr;
  auto type = mul ? llvm::dyn_cast<mlir::RankedTensorType>(mul.getType()) : nullptr;
  if (!type || !type.getElementType().isF32()) {
    return std::nullopt;
  }
  Dequantized result;
  bool onRight = readScales(mul.getRhs(), type.getRank(), result);
  if (!onRight && !readScales(mul.getLhs(), type.getRank(), result)) {
    return std::nullopt;
  }
  auto [floats, offset] = withoutOffsets(onRight ? mul.getLhs() : mul.getRhs());
  result.zero = -offset;
  auto cast = floats.getDefiningOp<ir::CastOp>();
  if (!cast || cast.getType() != type ||
      !(isByte(elementOf(cast.getInput())) || elementOf(cast.getInput()).isInteger(32))) {
    return std::nullopt;
  }
  result.integers = cast.getInput();
  return result;
}

bool isSmallFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

std::optional<DequantizedFloats> dequantizedFloatsOf(mlir::Value value) {
  mlir::Type type = elementOf(value);
  bool isRounded = type.isF16() || type.isBF16();
  if (!isRounded && !type.isF32()) {
    return std::nullopt;
  }
  value = behindGroups(value);
  if (auto cast = value.getDefiningOp<ir::CastOp>(); cast && isRounded) {
    if (!elementOf(cast.getInput()).isF32()) {  // exact without a factor
      return isSmallFloat(elementOf(cast.getInput()))
                 ? std::optional(DequantizedFloats{outsideGroup(cast.getInput()), 1})
                 : std::nullopt;
    }
    value = behindGroups(cast.getInput());
  }
  DequantizedFloats result;
  if (auto mul = value.getDefiningOp<ir::MulOp>(); mul && elementOf(value).isF32()) {
    std::optional<double> right = scalarOf(mul.getRhs());
    std::optional<double> factor = right ? right : scalarOf(mul.getLhs());
    mlir::Value scaled = right ? mul.getLhs() : mul.getRhs();
    if (!factor || scaled.getType() != mul.getType()) {
      return std::nullopt;
    }
    result.factor = static_cast<float>(*factor);
    value = behindGroups(scaled);
  }
  auto cast = value.getDefiningOp<ir::CastOp>();
  if (!cast || !cast.getTo().isF32() || !isSmallFloat(elementOf(cast.getInput()))) {
    return std::nullopt;
  }
  result.elements = outsideGroup(cast.getInput());
  return result;
}

llvm::SmallVector<mlir::Operation*> dequantizationOf(mlir::Value value) {
  llvm::SmallVector<mlir::Operation*> ops = {value.getDefiningOp()};
  while (!llvm::isa<ir::CastOp>(ops.back())) {
    mlir::Operation* op = ops.back();
    bool constantFirst = constantOf(withoutMovement(op->getOperand(0))) != nullptr;
    ops.push_back(op->getOperand(constantFirst ? 1 : 0).getDefiningOp());
  }
  return {ops.rbegin(), ops.rend()};
}

std::optional<Quantized> quantizedOf(ir::CastOp cast) {
  auto clip = cast.getInput().getDefiningOp<ir::ClipOp>();
  if (!isByte(cast.getTo()) || !clip || !clipsToBytes(clip, cast.getTo())) {
    return std::nullopt;
  }
  auto [whole, zero] = withoutOffsets(clip.getInput());
  auto round = whole.getDefiningOp<ir::RoundOp>();
  auto div = round ? round.getInput().getDefiningOp<ir::DivOp>() : nullptr;
  std::optional<double> scale = div ? numberOf(div.getRhs()) : std::nullopt;
  if (!scale || !canScaleBytes(*scale) || !elementOf(div.getLhs()).isF32()) {
    return std::nullopt;
  }
  return Quantized{div.getLhs(), *scale, zero};
}

std::optional<std::vector<int64_t>> integersOf(mlir::Value value) {
  mlir::ElementsAttr constant = constantOf(withoutMovement(value));
  std::optional<ElementBytes> raw = constant ? bytesOf(constant) : std::nullopt;
  if (!raw) {
    return std::nullopt;
  }
  mlir::Type type = constant.getElementType();
  if (!isByte(type) && !type.isInteger(32)) {
    return std::nullopt;
  }
  std::vector<int64_t> values = type.isInteger(32)         ? elements<int32_t>(raw->bytes)
                                : type.isUnsignedInteger() ? elements<uint8_t>(raw->bytes)
                                                           : elements<int8_t>(raw->bytes);
  if (raw->splat) {
    values.resize(constant.getNumElements(), values.front());
  }
  return values;
}

}  // namespace graphrun::passes
