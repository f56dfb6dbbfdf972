// Types and costs of the math family.
#include "ir/infer.h"
#include "ir/reductions.h"

namespace graphrun::ir {

mlir::LogicalResult requireSignedAxis(mlir::Operation* op, int64_t axis, int64_t rank,
                                      int64_t least) {
  if (axis < -rank || axis >= std::max(rank, least)) {
    return op->emitOpError() << "axis " << axis << " is out of range for rank " << rank;
  }
  return mlir::success();
}

mlir::LogicalResult requireAxes(mlir::Operation* op, llvm::ArrayRef<int64_t> axes, int64_t rank) {
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= rank) {
      return op->emitOpError() << "axis " << axis << " is out of range for rank " << rank;
    }
    if (axis <= previous) {
      return op->emitOpError() << "axes must be ascending and unique, got " << axis << " after "
                               << previous;
    }
    previous = axis;
  }
  return mlir::success();
}

namespace {

/// Broadcasts all operands from `first` on; reports shapes that do not fit.
mlir::LogicalResult broadcastOperands(mlir::Operation* op, mlir::Type element, Types& types) {
  std::optional<Dims> dims = Dims();
  for (mlir::Value operand : op->getOperands()) {
    std::optional<Dims> next = dimsOf(operand);
    if (!next || !dims) {
      dims.reset();
      continue;
    }
    std::optional<Dims> both = broadcast(*dims, *next);
    if (!both) {
      return op->emitOpError() << "operand shapes " << toString(*dims) << " and " << toString(*next)
                               << " do not broadcast: dims must be equal or 1, right-aligned";
    }
    dims = both;
  }
  return push(types, dims, element);
}

mlir::LogicalResult inferUnary(mlir::Operation* op, Types& types) {
  return push(types, dimsOf(op->getOperand(0)), elementOf(op->getOperand(0)));
}

mlir::LogicalResult inferComputedUnary(mlir::Operation* op, Types& types) {
  return mlir::failed(requireComputed(op, op->getOperand(0), "operand")) ? mlir::failure()
                                                                         : inferUnary(op, types);
}

mlir::LogicalResult inferFloatUnary(mlir::Operation* op, Types& types) {
  if (mlir::failed(requireFloat(op, op->getOperand(0), "operand"))) {
    return mlir::failure();
  }
  return inferUnary(op, types);
}

mlir::LogicalResult requireOperands(mlir::Operation* op) {
  return mlir::failure(mlir::failed(requireSameElement(op, op->getOperand(0), op->getOperand(1))) ||
                       mlir::failed(requireComputed(op, op->getOperand(0), "operand")));
}

mlir::LogicalResult inferBinary(mlir::Operation* op, Types& types) {
  if (mlir::failed(requireOperands(op))) {
    return mlir::failure();
  }
  return broadcastOperands(op, elementOf(op->getOperand(0)), types);
}

mlir::LogicalResult inferCompare(mlir::Operation* op, Types& types) {
  if (mlir::failed(requireOperands(op))) {
    return mlir::failure();
  }
  return broadcastOperands(op, mlir::IntegerType::get(op->getContext(), 1), types);
}

mlir::LogicalResult requireBool(mlir::Operation* op, mlir::Value value) {
  if (elementOf(value).isInteger(1)) {
    return mlir::success();
  }
  return op->emitOpError() << "operand has element type " << elementOf(value)
                           << ", expected bool (i1)";
}

mlir::LogicalResult requireBits(mlir::Operation* op) {
  mlir::Type element = elementOf(op->getOperand(0));
  if (element.isInteger()) {
    return mlir::success();
  }
  return op->emitOpError() << "operand has element type " << element
                           << ", expected bool (i1) or an integer type";
}

mlir::LogicalResult inferBits(mlir::Operation* op, Types& types) {
  return mlir::failed(requireBits(op)) ? mlir::failure() : inferBinary(op, types);
}

mlir::LogicalResult inferBitsUnary(mlir::Operation* op, Types& types) {
  return mlir::failed(requireBits(op)) ? mlir::failure() : inferUnary(op, types);
}

mlir::LogicalResult inferShift(mlir::Operation* op, Types& types) {
  if (elementOf(op->getOperand(0)).isInteger(1)) {
    return op->emitOpError() << "operand has element type 'i1', expected an integer type";
  }
  return inferBits(op, types);
}

}  // namespace

// These macros implement the rules of elementwise.def.
#define GR_INFER_UNARY_Number inferComputedUnary
#define GR_INFER_UNARY_Float inferFloatUnary
#define GR_INFER_UNARY_Bits inferBitsUnary
#define GR_INFER_BINARY_Number inferBinary
#define GR_INFER_BINARY_Equality inferCompare
#define GR_INFER_BINARY_Order inferCompare
#define GR_INFER_BINARY_Bits inferBits
#define GR_INFER_BINARY_Shift inferShift

#define GR_INFER_COST(Class, infer, flops)                                                         \
  mlir::LogicalResult Class##Op::inferTypes(Types& types) { return infer(getOperation(), types); } \
  OpCost Class##Op::cost() { return elementwiseCost(getOperation(), flops); }
#define GR_UNARY(Class, name, builder, rule, flops, onnx, since) \
  GR_INFER_COST(Class, GR_INFER_UNARY_##rule, flops)
#define GR_BINARY(Class, name, builder, rule, flops, onnx, since, neutral) \
  GR_INFER_COST(Class, GR_INFER_BINARY_##rule, flops)
#include "devices/functions/elementwise.def"

mlir::LogicalResult CastOp::inferTypes(Types& types) {
  if (elementBits(getTo()) == 0) {
    return emitOpError() << "cannot cast to " << getTo() << ", expected an integer or float type";
  }
  return push(types, dimsOf(getInput()), getTo());
}
OpCost CastOp::cost() { return elementwiseCost(*this, 1); }

mlir::LogicalResult BitcastOp::inferTypes(Types& types) {
  mlir::Type from = elementOf(getInput());
  if (elementBits(from) == 0 || elementBits(from) != elementBits(getTo())) {
    return emitOpError() << "cannot take the bits of " << from << " for " << getTo()
                         << ", expected types of one width";
  }
  return push(types, dimsOf(getInput()), getTo());
}
OpCost BitcastOp::cost() { return elementwiseCost(*this, 0); }

mlir::LogicalResult WhereOp::inferTypes(Types& types) {
  if (mlir::failed(requireBool(*this, getCondition())) ||
      mlir::failed(requireSameElement(*this, getLhs(), getRhs()))) {
    return mlir::failure();
  }
  return broadcastOperands(*this, elementOf(getLhs()), types);
}
OpCost WhereOp::cost() { return elementwiseCost(*this, 1); }

mlir::LogicalResult ReduceOp::inferTypes(Types& types) {
  if (mlir::failed(requireComputed(*this, getInput(), "input")) ||
      (!ruleOf(getKind()).takesIntegers &&
       mlir::failed(requireFloat(*this, getInput(), "input")))) {
    return mlir::failure();
  }
  std::optional<Dims> dims = dimsOf(getInput());
  if (!dims) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  if (mlir::failed(requireAxes(*this, getAxes(), dims->size()))) {
    return mlir::failure();
  }
  Dims result;
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    bool reduced = llvm::is_contained(getAxes(), static_cast<int64_t>(i));
    if (!reduced) {
      result.push_back(dim);
    } else if (getKeepdims()) {
      result.push_back(Dim(1));
    }
  }
  return push(types, result, elementOf(getInput()));
}

OpCost ReduceOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    int64_t elements = llvm::cast<mlir::ShapedType>(getInput().getType()).getNumElements();
    cost.flops = elements * ruleOf(getKind()).flops;
  }
  return cost;
}

namespace {

/// The operand's dims as a matrix product sees them: at least two, transposed as asked.
Dims matrixDims(Dims dims, bool left, bool transposed) {
  if (dims.size() == 1) {
    dims.insert(left ? dims.begin() : dims.end(), Dim(1));
  }
  if (transposed) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  }
  return dims;
}

}  // namespace

mlir::LogicalResult MatMulOp::inferTypes(Types& types) {
  if (!isQuantizedProduct(getLhs(), getRhs()) && mlir::failed(requireOperands(*this))) {
    return mlir::failure();
  }
  mlir::Type element = productElement(getLhs(), getRhs());
  std::optional<Dims> lhs = dimsOf(getLhs());
  std::optional<Dims> rhs = dimsOf(getRhs());
  if (!lhs || !rhs) {
    return push(types, std::nullopt, element);
  }
  if (lhs->empty() || rhs->empty()) {
    return emitOpError() << "operands have ranks " << lhs->size() << " and " << rhs->size()
                         << ", expected at least 1";
  }
  Dims a = matrixDims(*lhs, true, getTransposeLhs());
  Dims b = matrixDims(*rhs, false, getTransposeRhs());
  if (provablyDifferent(a.back(), b[b.size() - 2])) {
    return emitOpError() << "shapes " << toString(*lhs) << " and " << toString(*rhs)
                         << " do not multiply: inner dims are " << a.back().value() << " and "
                         << b[b.size() - 2].value() << ", expected equal";
  }
  std::optional<Dims> dims =
      broadcast(llvm::ArrayRef<Dim>(a).drop_back(2), llvm::ArrayRef<Dim>(b).drop_back(2));
  if (!dims) {
    return emitOpError() << "batch dims of shapes " << toString(*lhs) << " and " << toString(*rhs)
                         << " do not broadcast";
  }
  if (lhs->size() > 1) {
    dims->push_back(a[a.size() - 2]);
  }
  if (rhs->size() > 1) {
    dims->push_back(b.back());
  }
  return push(types, dims, element);
}

OpCost MatMulOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    llvm::ArrayRef<int64_t> lhs = llvm::cast<mlir::ShapedType>(getLhs().getType()).getShape();
    bool row = getTransposeLhs() && lhs.size() > 1;
    int64_t depth = lhs[lhs.size() - (row ? 2 : 1)];
    cost.flops = 2 * depth * llvm::cast<mlir::ShapedType>(getType()).getNumElements();
  }
  return cost;
}

}  // namespace graphrun::ir
