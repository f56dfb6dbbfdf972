// Types and costs of the backward family.
#include "ir/infer.h"
#include "ir/windows.h"

namespace graphrun::ir {
namespace {

/// Fails unless all operands are of one floating-point type that is computed in.
mlir::LogicalResult requireFloats(mlir::Operation* op) {
  for (mlir::Value operand : op->getOperands()) {
    if (mlir::failed(requireFloat(op, operand, "operand")) ||
        mlir::failed(requireSameElement(op, op->getOperand(0), operand))) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

/// Fails unless `value` has `dims`, as far as both are known.
mlir::LogicalResult requireDims(mlir::Operation* op, mlir::Value value, llvm::StringRef what,
                                llvm::ArrayRef<Dim> dims) {
  std::optional<Dims> has = dimsOf(value);
  bool fits = !has || has->size() == dims.size();
  for (size_t i = 0; fits && has && i < dims.size(); ++i) {
    fits = !provablyDifferent((*has)[i], dims[i]);
  }
  if (fits) {
    return mlir::success();
  }
  return op->emitOpError() << what << " has shape " << toString(*has) << ", expected "
                           << toString(Dims(dims));
}

/// Fails unless the windows over `in` (the spatial dims) are as many as `gradient` has elements.
template <typename Op>
mlir::LogicalResult checkWindows(Op op, llvm::ArrayRef<Dim> in) {
  Window window{op.getStrides(), op.getDilations(), op.getPads()};
  std::optional<Dims> gradient = dimsOf(op.getGradient());
  if (op.getKernel().size() != in.size() || in.empty()) {
    return op.emitOpError() << "kernel has " << op.getKernel().size() << " entries, expected "
                            << in.size() << ", one a spatial dim";
  }
  if (mlir::failed(checkWindow(op, window, in.size()))) {
    return mlir::failure();
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (op.getKernel()[i] < 1) {
      return op.emitOpError() << "kernel must be at least 1, got " << op.getKernel()[i];
    }
    Dim count = windowCount(window, i, in[i], op.getKernel()[i], /*ceilMode=*/false);
    Dim most = windowCount(window, i, in[i], op.getKernel()[i], /*ceilMode=*/true);
    if (gradient && provablyDifferent((*gradient)[2 + i], count) &&
        provablyDifferent((*gradient)[2 + i], most)) {
      return op.emitOpError() << "gradient has " << toString({(*gradient)[2 + i]})
                              << " elements in spatial dim " << i << ", expected "
                              << toString({count}) << ", the windows that there are";
    }
  }
  return mlir::success();
}

/// Two flops for each element of a filter applied at each position of the gradient.
OpCost filterCost(ConvBackwardFilterOp op) {
  OpCost cost = elementwiseCost(op, 0);
  if (cost.bytesRead > 0) {
    auto positions = llvm::cast<mlir::ShapedType>(op.getGradient().getType()).getShape();
    cost.flops = 2 * llvm::cast<mlir::ShapedType>(op.getType()).getNumElements() * positions[0];
    for (int64_t dim : positions.drop_front(2)) {
      cost.flops *= dim;
    }
  }
  return cost;
}

int64_t elementsOfWindow(llvm::ArrayRef<int64_t> kernel) {
  int64_t elements = 1;
  for (int64_t size : kernel) {
    elements *= size;
  }
  return elements;
}

/// Fails unless `gradient` has the shape of `value`.
mlir::LogicalResult requireLike(mlir::Operation* op, mlir::Value gradient, mlir::Value value) {
  std::optional<Dims> dims = dimsOf(value);
  return dims ? requireDims(op, gradient, "gradient", *dims) : mlir::success();
}

}  // namespace

mlir::LogicalResult ConvBackwardFilterOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloats(*this))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> gradient = dimsOf(getGradient());
  if (!in || !gradient) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  if (in->size() < 3 || gradient->size() != in->size() ||
      provablyDifferent((*in)[0], (*gradient)[0])) {
    return emitOpError() << "input has shape " << toString(*in) << " and gradient "
                         << toString(*gradient)
                         << ", expected equal ranks of at least 3 and equal batches";
  }
  if (mlir::failed(checkWindows(*this, llvm::ArrayRef<Dim>(*in).drop_front(2)))) {
    return mlir::failure();
  }
  for (const Dim& channels : {(*in)[1], (*gradient)[1]}) {
    if (getGroups() < 1 || (channels.isStatic() && channels.value() % getGroups() != 0)) {
      return emitOpError() << toString({channels}) << " channels do not divide into " << getGroups()
                           << " groups";
    }
  }
  Dims dims = {(*gradient)[1], (*in)[1].floorDiv(getGroups())};
  for (int64_t size : getKernel()) {
    dims.push_back(Dim(size));
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost ConvBackwardFilterOp::cost() { return filterCost(*this); }

mlir::LogicalResult MaxPoolBackwardOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloats(*this))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> gradient = dimsOf(getGradient());
  if (in && gradient) {
    if (in->size() != getKernel().size() + 2 || gradient->size() != in->size() ||
        provablyDifferent((*in)[0], (*gradient)[0]) ||
        provablyDifferent((*in)[1], (*gradient)[1])) {
      return emitOpError() << "input has shape " << toString(*in) << " and gradient "
                           << toString(*gradient) << ", expected " << getKernel().size() + 2
                           << " dims, and equal batches and channels";
    }
    if (mlir::failed(checkWindows(*this, llvm::ArrayRef<Dim>(*in).drop_front(2)))) {
      return mlir::failure();
    }
  }
  return push(types, in, elementOf(getInput()));
}
OpCost MaxPoolBackwardOp::cost() { return elementwiseCost(*this, elementsOfWindow(getKernel())); }

mlir::LogicalResult AvgPoolBackwardOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloats(*this))) {
    return mlir::failure();
  }
  std::optional<Dims> gradient = dimsOf(getGradient());
  if (!gradient) {
    return push(types, std::nullopt, elementOf(getGradient()));
  }
  if (gradient->size() != getDims().size() + 2) {
    return emitOpError() << "gradient has shape " << toString(*gradient) << ", expected "
                         << getDims().size() + 2 << " dims for " << getDims().size()
                         << " spatial ones";
  }
  Dims dims = {(*gradient)[0], (*gradient)[1]};
  for (int64_t size : getDims()) {
    if (size < 0) {
      return emitOpError() << "dims has the negative dim " << size;
    }
    dims.push_back(Dim(size));
  }
  if (mlir::failed(checkWindows(*this, llvm::ArrayRef<Dim>(dims).drop_front(2)))) {
    return mlir::failure();
  }
  return push(types, dims, elementOf(getGradient()));
}
OpCost AvgPoolBackwardOp::cost() { return elementwiseCost(*this, elementsOfWindow(getKernel())); }

mlir::LogicalResult SoftmaxBackwardOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloats(*this)) ||
      mlir::failed(requireLike(*this, getGradient(), getOutput()))) {
    return mlir::failure();
  }
  std::optional<Dims> dims = dimsOf(getOutput());
  if (dims && mlir::failed(requireSignedAxis(*this, getAxis(), static_cast<int64_t>(dims->size()),
                                             /*least=*/1))) {
    return mlir::failure();
  }
  return push(types, dims, elementOf(getOutput()));
}
OpCost SoftmaxBackwardOp::cost() { return elementwiseCost(*this, 4); }

mlir::LogicalResult LayerNormBackwardOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloats(*this)) ||
      mlir::failed(requireLike(*this, getGradient(), getInput()))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> tail;
  if (in) {
    auto rank = static_cast<int64_t>(in->size());
    if (mlir::failed(requireSignedAxis(*this, getAxis(), rank))) {
      return mlir::failure();
    }
    tail = Dims(llvm::ArrayRef<Dim>(*in).drop_front(getAxis() < 0 ? getAxis() + rank : getAxis()));
    if (mlir::failed(requireDims(*this, getScale(), "scale", *tail))) {
      return mlir::failure();
    }
  }
  return mlir::failure(mlir::failed(push(types, in, elementOf(getInput()))) ||
                       mlir::failed(push(types, tail, elementOf(getInput()))) ||
                       mlir::failed(push(types, tail, elementOf(getInput()))));
}
OpCost LayerNormBackwardOp::cost() { return elementwiseCost(*this, 14); }

mlir::LogicalResult BatchNormBackwardOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloats(*this)) ||
      mlir::failed(requireLike(*this, getGradient(), getInput()))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> channels;
  if (in && in->size() < 2) {
    return emitOpError() << "input is of rank " << in->size() << ", expected at least 2";
  }
  if (in) {
    channels = Dims{(*in)[1]};
    if (mlir::failed(requireDims(*this, getScale(), "scale", *channels)) ||
        mlir::failed(requireDims(*this, getMean(), "mean", *channels)) ||
        mlir::failed(requireDims(*this, getVariance(), "variance", *channels))) {
      return mlir::failure();
    }
  }
  return mlir::failure(mlir::failed(push(types, in, elementOf(getInput()))) ||
                       mlir::failed(push(types, channels, elementOf(getInput()))) ||
                       mlir::failed(push(types, channels, elementOf(getInput()))));
}
OpCost BatchNormBackwardOp::cost() { return elementwiseCost(*this, 10); }

}  // namespace graphrun::ir
