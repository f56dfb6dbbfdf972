// Elements of small integer tensors that follow from constants and dims: how computed shapes stay
// known.
#include "ir/infer.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::ir {
namespace {

// Values looked at for one answer: bounds recursion, and the work where operands are shared.
constexpr int kMaxVisits = 256;
constexpr int64_t kMaxElements = 64;

std::optional<Dims> elementsAt(mlir::Value value, int& visits);

std::optional<Dims> constantElements(mlir::Value value) {
  std::optional<llvm::SmallVector<int64_t>> ints = constantInts(value);
  if (!ints) {
    return std::nullopt;
  }
  return Dims(ints->begin(), ints->end());
}

std::optional<Dims> shapeElements(ShapeOp op) {
  std::optional<Dims> dims = dimsOf(op.getInput());
  llvm::SmallVector<mlir::Type> types;
  if (!dims || mlir::failed(op.inferTypes(types))) {
    return std::nullopt;
  }
  auto rank = static_cast<int64_t>(dims->size());
  int64_t start = op.getStart();
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  int64_t count = llvm::cast<mlir::RankedTensorType>(types[0]).getDimSize(0);
  return Dims(dims->begin() + start, dims->begin() + start + count);
}

std::optional<Dims> gatherElements(GatherOp op, int& visits) {
  std::optional<Dims> input = elementsAt(op.getInput(), visits);
  std::optional<llvm::SmallVector<int64_t>> indices = constantInts(op.getIndices());
  if (!input || !indices) {
    return std::nullopt;
  }
  Dims result;
  auto size = static_cast<int64_t>(input->size());
  for (int64_t index : *indices) {
    index = index < 0 ? index + size : index;
    if (index < 0 || index >= size) {
      return std::nullopt;
    }
    result.push_back((*input)[index]);
  }
  return result;
}

std::optional<Dims> sliceElements(SliceOp op, int& visits) {
  std::optional<Dims> input = elementsAt(op.getInput(), visits);
  auto starts = constantInts(op.getStarts());
  auto ends = constantInts(op.getEnds());
  auto steps = constantInts(op.getSteps());
  if (!input || !starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
      steps->size() != 1 || (*steps)[0] < 1) {
    return std::nullopt;
  }
  auto size = static_cast<int64_t>(input->size());
  auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + size : p, 0, size); };
  int64_t step = std::min((*steps)[0], size + 1);  // so that adding it cannot overflow
  Dims result;
  for (int64_t i = clamp((*starts)[0]); i < clamp((*ends)[0]); i += step) {
    result.push_back((*input)[i]);
  }
  return result;
}

std::optional<Dims> concatElements(ConcatOp op, int& visits) {
  Dims result;
  for (mlir::Value input : op.getInputs()) {
    std::optional<Dims> part = elementsAt(input, visits);
    if (!part) {
      return std::nullopt;
    }
    result.append(*part);
  }
  return result;
}

template <typename Op, typename Function>
std::optional<Dims> binaryElements(Op op, int& visits, Function function) {
  std::optional<Dims> lhs = elementsAt(op.getLhs(), visits);
  std::optional<Dims> rhs = elementsAt(op.getRhs(), visits);
  if (!lhs || !rhs || lhs->empty() || rhs->empty() ||
      (lhs->size() != rhs->size() && lhs->size() != 1 && rhs->size() != 1)) {
    return std::nullopt;
  }
  Dims result;
  for (size_t i = 0; i < std::max(lhs->size(), rhs->size()); ++i) {
    result.push_back(function((*lhs)[lhs->size() == 1 ? 0 : i], (*rhs)[rhs->size() == 1 ? 0 : i]));
  }
  return result;
}

/// Integers truncate towards zero; symbols stand for dims, which are not negative.
Dim divide(const Dim& a, const Dim& b) {
  if (!b.isStatic() || b.value() <= 0) {
    return Dim();
  }
  return a.isStatic() ? Dim(a.value() / b.value()) : a.floorDiv(b.value());
}

/// Returns the value of `element` in a tensor of `type`: integers wrap around. A symbol stands for
/// a dim, which fits 32 bits; not so in fewer, and a sum or difference of dims may be below 0.
Dim wrapped(const Dim& element, mlir::IntegerType type) {
  const unsigned width = type.getWidth();
  if (width == 1) {  // a bool, in which arithmetic is left to kernels
    return element.isStatic() && (element.value() == 0 || element.value() == 1) ? element : Dim();
  }
  if (!element.isStatic()) {
    return width >= 32 && !type.isUnsigned() ? element : Dim();
  }
  if (width >= 64) {  // what an int64_t does not hold is not known
    return type.isUnsigned() && element.value() < 0 ? Dim() : element;
  }
  auto bits = static_cast<uint64_t>(element.value());
  return type.isUnsigned()
             ? Dim(static_cast<int64_t>(bits & llvm::maskTrailingOnes<uint64_t>(width)))
             : Dim(llvm::SignExtend64(bits, width));
}

std::optional<Dims> castElements(CastOp op, int& visits) {
  std::optional<Dims> elements = elementsAt(op.getInput(), visits);
  if (elements && op.getTo().isInteger(1)) {
    for (Dim& element : *elements) {
      element = element.isStatic() ? Dim(element.value() != 0 ? 1 : 0) : Dim();
    }
  }
  return elements;
}

std::optional<Dims> reduceElements(ReduceOp op, int& visits) {
  std::optional<Dims> input = elementsAt(op.getInput(), visits);
  if (!input || op.getKind() != ReduceKind::kProd || op.getAxes().size() != 1) {
    return std::nullopt;
  }
  return Dims{product(*input)};
}

std::optional<Dims> elementsAt(mlir::Value value, int& visits) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isInteger() || type.getRank() > 1 || !type.hasStaticShape() ||
      type.getNumElements() > kMaxElements || value.getDefiningOp() == nullptr ||
      ++visits > kMaxVisits) {
    return std::nullopt;
  }
  using Result = std::optional<Dims>;
  mlir::Operation* source = value.getDefiningOp();
  std::optional<Dims> result =
      llvm::TypeSwitch<mlir::Operation*, Result>(source)
          .Case([&](ConstantOp) { return constantElements(value); })
          .Case([&](ShapeOp op) { return shapeElements(op); })
          .Case([&](GatherOp op) { return gatherElements(op, visits); })
          .Case([&](SliceOp op) { return sliceElements(op, visits); })
          .Case([&](ConcatOp op) { return concatElements(op, visits); })
          .Case([&](CastOp op) { return castElements(op, visits); })
          .Case([&](AddOp op) { return binaryElements(op, visits, std::plus<>()); })
          .Case([&](SubOp op) { return binaryElements(op, visits, std::minus<>()); })
          .Case([&](MulOp op) { return binaryElements(op, visits, std::multiplies<>()); })
          .Case([&](DivOp op) { return binaryElements(op, visits, divide); })
          .Case([&](ReduceOp op) { return reduceElements(op, visits); })
          .Default([&](mlir::Operation* op) {
            return isView(op) ? elementsAt(op->getOperand(0), visits) : std::nullopt;
          });
  if (!result || static_cast<int64_t>(result->size()) != type.getNumElements()) {
    return std::nullopt;
  }
  for (Dim& element : *result) {
    element = wrapped(element, llvm::cast<mlir::IntegerType>(type.getElementType()));
  }
  return result;
}

}  // namespace

std::optional<Dims> elementsOf(mlir::Value value) {
  int visits = 0;
  return elementsAt(value, visits);
}

}  // namespace graphrun::ir
