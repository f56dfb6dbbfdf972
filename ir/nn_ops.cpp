// Types and costs of the nn family.
#include <algorithm>
#include <cmath>

#include "ir/infer.h"
#include "ir/windows.h"
#include "llvm/ADT/StringExtras.h"

namespace graphrun::ir {
namespace {

/// Fails where a spatial dim of the result is below `least`.
mlir::LogicalResult checkCount(mlir::Operation* op, const Dim& dim, size_t i, int64_t least = 1) {
  if (dim.isStatic() && dim.value() < least) {
    return op->emitOpError() << "spatial dim " << i << " of the result would be " << dim.value()
                             << ": the window does not fit the padded input";
  }
  return mlir::success();
}

/// Checks rank and types of a convolution; gives the dims of input and filter when both are ranked.
template <typename Op>
mlir::LogicalResult checkConvOperands(Op op, std::optional<Dims>& in, std::optional<Dims>& filter) {
  in = dimsOf(op.getInput());
  filter = dimsOf(op.getFilter());
  constexpr bool kTakesIntegers = std::is_same_v<Op, ConvOp>;
  bool isQuantized = kTakesIntegers && isQuantizedProduct(op.getInput(), op.getFilter());
  bool isInteger = kTakesIntegers && elementOf(op.getInput()).isInteger(32);
  if ((!isQuantized && !isInteger && mlir::failed(requireFloat(op, op.getInput(), "input"))) ||
      (!isQuantized && mlir::failed(requireSameElement(op, op.getInput(), op.getFilter())))) {
    return mlir::failure();
  }
  if (op.getGroups() < 1) {
    return op.emitOpError() << "groups is " << op.getGroups() << ", expected at least 1";
  }
  if (!in || !filter) {
    return mlir::success();
  }
  if (in->size() < 3 || filter->size() != in->size()) {
    return op.emitOpError() << "input is of rank " << in->size() << " and filter of rank "
                            << filter->size() << ", expected equal ranks of at least 3";
  }
  return mlir::success();
}

template <typename Op>
mlir::LogicalResult checkBias(Op op, const Dim& channels) {
  if (!op.getBias()) {
    return mlir::success();
  }
  std::optional<Dims> bias = dimsOf(op.getBias());
  if (bias && (bias->size() != 1 || provablyDifferent((*bias)[0], channels))) {
    return op.emitOpError() << "bias has shape " << toString(*bias) << ", expected "
                            << toString({channels}) << " (one value a result channel)";
  }
  return mlir::success();
}

/// Flops of a (transposed) convolution: two for each filter element applied to each of `positions`.
template <typename Op>
OpCost convCost(Op op, mlir::Value positions) {
  OpCost cost = elementwiseCost(op, 0);
  if (cost.bytesRead > 0) {
    auto shape = llvm::cast<mlir::ShapedType>(positions.getType()).getShape();
    int64_t filter = llvm::cast<mlir::ShapedType>(op.getFilter().getType()).getNumElements();
    cost.flops = 2 * filter * shape[0];
    for (int64_t dim : shape.drop_front(2)) {
      cost.flops *= dim;
    }
  }
  return cost;
}

}  // namespace

mlir::LogicalResult ConvOp::inferTypes(Types& types) {
  std::optional<Dims> in, filter;
  if (mlir::failed(checkConvOperands(*this, in, filter))) {
    return mlir::failure();
  }
  if (!in || !filter) {
    return push(types, std::nullopt, productElement(getInput(), getFilter()));
  }
  size_t spatial = in->size() - 2;
  Window window = windowOf(*this);
  if (mlir::failed(checkWindow(*this, window, spatial)) ||
      mlir::failed(checkBias(*this, (*filter)[0]))) {
    return mlir::failure();
  }
  auto groups = getGroups();
  if (provablyDifferent((*in)[1], (*filter)[1] * Dim(groups))) {
    return emitOpError() << "input has " << (*in)[1].value() << " channels, expected "
                         << (*filter)[1].value() * groups << " (filter " << toString(*filter)
                         << " with " << groups << " groups)";
  }
  if ((*filter)[0].isStatic() && (*filter)[0].value() % groups != 0) {
    return emitOpError() << (*filter)[0].value() << " filters do not divide into " << groups
                         << " groups";
  }
  Dims dims = {(*in)[0], (*filter)[0]};
  for (size_t i = 0; i < spatial; ++i) {
    const Dim& kernel = (*filter)[2 + i];
    dims.push_back(kernel.isStatic() ? windowCount(window, i, (*in)[2 + i], kernel.value(), false)
                                     : Dim());
    if (mlir::failed(checkCount(*this, dims.back(), i))) {
      return mlir::failure();
    }
  }
  return push(types, dims, productElement(getInput(), getFilter()));
}
OpCost ConvOp::cost() { return convCost(*this, getOutput()); }

mlir::LogicalResult ConvTransposeOp::inferTypes(Types& types) {
  std::optional<Dims> in, filter;
  if (mlir::failed(checkConvOperands(*this, in, filter))) {
    return mlir::failure();
  }
  if (!in || !filter) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  size_t spatial = in->size() - 2;
  Window window = windowOf(*this);
  Dim channels = (*filter)[1] * Dim(getGroups());
  if (mlir::failed(checkWindow(*this, window, spatial)) ||
      mlir::failed(checkBias(*this, channels))) {
    return mlir::failure();
  }
  if (provablyDifferent((*in)[1], (*filter)[0])) {
    return emitOpError() << "input has " << (*in)[1].value() << " channels, expected "
                         << (*filter)[0].value() << " (filter " << toString(*filter) << ")";
  }
  if (getOutputPadding().size() != spatial ||
      (!getOutputShape().empty() && getOutputShape().size() != spatial)) {
    return emitOpError() << "output_padding and output_shape must have one entry for each of the "
                         << spatial << " spatial dims";
  }
  Dims dims = {(*in)[0], channels};
  for (size_t i = 0; i < spatial; ++i) {
    const Dim& kernel = (*filter)[2 + i];
    int64_t stride = window.strides[i];
    if (!getOutputShape().empty()) {
      dims.push_back(Dim(getOutputShape()[i]));
    } else if (window.padding != WindowPadding::kExplicit) {
      dims.push_back((*in)[2 + i] * Dim(stride));
    } else if (kernel.isStatic()) {
      int64_t extent = window.dilations[i] * (kernel.value() - 1) + 1;
      dims.push_back(
          ((*in)[2 + i] - Dim(1)) * Dim(stride) +
          Dim(extent + getOutputPadding()[i] - window.pads[i] - window.pads[spatial + i]));
    } else {
      dims.push_back(Dim());
    }
    if (mlir::failed(checkCount(*this, dims.back(), i))) {
      return mlir::failure();
    }
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost ConvTransposeOp::cost() { return convCost(*this, getInput()); }

namespace {

/// Fails unless `value` has `dims`, as far as both are known.
mlir::LogicalResult requireDims(mlir::Operation* op, mlir::Value value, llvm::StringRef what,
                                const Dims& dims) {
  std::optional<Dims> has = value ? dimsOf(value) : std::nullopt;
  bool fits = !has || has->size() == dims.size();
  for (size_t i = 0; fits && has && i < dims.size(); ++i) {
    fits = !provablyDifferent((*has)[i], dims[i]);
  }
  if (fits) {
    return mlir::success();
  }
  return op->emitOpError() << what << " has shape " << toString(*has) << ", expected "
                           << toString(dims);
}

}  // namespace

mlir::LogicalResult DeformConvOp::inferTypes(Types& types) {
  std::optional<Dims> in, filter;
  if (mlir::failed(checkConvOperands(*this, in, filter))) {
    return mlir::failure();
  }
  for (mlir::Value other : getOperands().drop_front(2)) {
    if (mlir::failed(requireSameElement(*this, getInput(), other))) {
      return mlir::failure();
    }
  }
  if (!in || !filter) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  auto spatial = static_cast<int64_t>(in->size()) - 2;
  Window window = windowOf(*this);
  if (mlir::failed(checkWindow(*this, window, spatial)) ||
      mlir::failed(checkBias(*this, (*filter)[0]))) {
    return mlir::failure();
  }
  Dim divided = (*in)[1];
  if (provablyDifferent(divided, (*filter)[1] * Dim(getGroups())) || getOffsetGroups() < 1 ||
      (divided.isStatic() && divided.value() % getOffsetGroups() != 0)) {
    return emitOpError() << "input has " << toString({divided}) << " channels for the filter "
                         << toString(*filter) << ", " << getGroups() << " groups and "
                         << getOffsetGroups() << " offset groups";
  }
  Dims dims = {(*in)[0], (*filter)[0]};
  Dim elements = product(llvm::ArrayRef<Dim>(*filter).drop_front(2)) * Dim(getOffsetGroups());
  Dims offsets = {(*in)[0], elements * Dim(spatial)};
  Dims mask = {(*in)[0], elements};
  for (int64_t i = 0; i < spatial; ++i) {
    const Dim& kernel = (*filter)[2 + i];
    dims.push_back(kernel.isStatic() ? windowCount(window, i, (*in)[2 + i], kernel.value(), false)
                                     : Dim());
    offsets.push_back(dims.back());
    mask.push_back(dims.back());
    if (mlir::failed(checkCount(*this, dims.back(), i))) {
      return mlir::failure();
    }
  }
  if (mlir::failed(requireDims(*this, getOffsets(), "offsets", offsets)) ||
      mlir::failed(requireDims(*this, getMask(), "mask", mask))) {
    return mlir::failure();
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost DeformConvOp::cost() { return convCost(*this, getOutput()); }

namespace {

mlir::LogicalResult requireNumber(mlir::Operation* op, mlir::Value value, llvm::StringRef what) {
  if (elementOf(value).isIntOrFloat() && !elementOf(value).isInteger(1)) {
    return requireComputed(op, value, what);
  }
  return op->emitOpError() << what << " has element type " << elementOf(value)
                           << ", expected a number";
}

template <typename Op>
mlir::LogicalResult inferPool(Op op, Types& types) {
  std::optional<Dims> in = dimsOf(op.getInput());
  if (!in) {
    return push(types, std::nullopt, elementOf(op.getInput()));
  }
  size_t spatial = op.getKernel().size();
  if (in->size() != spatial + 2 || spatial == 0) {
    return op.emitOpError() << "input is of rank " << in->size() << ", expected " << spatial + 2
                            << " for a kernel of " << spatial << " dims";
  }
  Window window = windowOf(op);
  if (mlir::failed(checkWindow(op, window, spatial))) {
    return mlir::failure();
  }
  Dims dims = {(*in)[0], (*in)[1]};
  for (size_t i = 0; i < spatial; ++i) {
    if (op.getKernel()[i] < 1) {
      return op.emitOpError() << "kernel must be at least 1, got " << op.getKernel()[i];
    }
    dims.push_back(windowCount(window, i, (*in)[2 + i], op.getKernel()[i], op.getCeilMode()));
    // A pool may have no window, as in ONNX Runtime.
    if (mlir::failed(checkCount(op, dims.back(), i, /*least=*/0))) {
      return mlir::failure();
    }
  }
  return push(types, dims, elementOf(op.getInput()));
}

template <typename Op>
OpCost poolCost(Op op) {
  int64_t window = 1;
  for (int64_t size : op.getKernel()) {
    window *= size;
  }
  return elementwiseCost(op, window);
}

/// Parameters that hold one value a channel.
mlir::LogicalResult checkChannelVectors(mlir::Operation* op, mlir::Value input,
                                        mlir::ValueRange parameters) {
  std::optional<Dims> in = dimsOf(input);
  if (in && in->size() < 2) {
    return op->emitOpError() << "input is of rank " << in->size() << ", expected at least 2";
  }
  for (mlir::Value parameter : parameters) {
    std::optional<Dims> dims = dimsOf(parameter);
    if (in && dims && (dims->size() != 1 || provablyDifferent((*dims)[0], (*in)[1]))) {
      return op->emitOpError() << "parameter has shape " << toString(*dims) << ", expected "
                               << toString({(*in)[1]}) << " (one value a channel)";
    }
  }
  return mlir::success();
}

/// Fails unless the input is of floats, and each other operand has one value a channel of it.
template <typename Op>
mlir::LogicalResult inferChannelNorm(Op op, Types& types) {
  if (mlir::failed(requireFloat(op, op.getInput(), "input")) ||
      mlir::failed(checkChannelVectors(op, op.getInput(), op->getOperands().drop_front()))) {
    return mlir::failure();
  }
  return push(types, dimsOf(op.getInput()), elementOf(op.getInput()));
}

template <typename Op>
mlir::LogicalResult inferFloatPool(Op op, Types& types) {
  return mlir::failed(requireFloat(op, op.getInput(), "input")) ? mlir::failure()
                                                                : inferPool(op, types);
}

}  // namespace

mlir::LogicalResult MaxPoolOp::inferTypes(Types& types) {
  return mlir::failed(requireNumber(*this, getInput(), "input")) ? mlir::failure()
                                                                 : inferPool(*this, types);
}
OpCost MaxPoolOp::cost() { return poolCost(*this); }
mlir::LogicalResult MaxPoolWithIndicesOp::inferTypes(Types& types) {
  if (mlir::failed(requireNumber(*this, getInput(), "input")) ||
      mlir::failed(inferPool(*this, types))) {
    return mlir::failure();
  }
  return push(types, dimsOf(types.back()), mlir::IntegerType::get(getContext(), 64));
}
OpCost MaxPoolWithIndicesOp::cost() { return poolCost(*this); }
mlir::LogicalResult AvgPoolOp::inferTypes(Types& types) { return inferFloatPool(*this, types); }
OpCost AvgPoolOp::cost() { return poolCost(*this); }
mlir::LogicalResult LpPoolOp::inferTypes(Types& types) {
  if (!(getP().convertToDouble() > 0)) {
    return emitOpError() << "p is " << getP().convertToDouble() << ", expected a number above 0";
  }
  return inferFloatPool(*this, types);
}
OpCost LpPoolOp::cost() { return poolCost(*this); }

mlir::LogicalResult BatchNormOp::inferTypes(Types& types) { return inferChannelNorm(*this, types); }
OpCost BatchNormOp::cost() { return elementwiseCost(*this, 2); }

mlir::LogicalResult BatchNormTrainingOp::inferTypes(Types& types) {
  if (mlir::failed(inferChannelNorm(*this, types))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> channels = in ? std::optional<Dims>({(*in)[1]}) : std::nullopt;
  return mlir::failure(mlir::failed(push(types, channels, elementOf(getInput()))) ||
                       mlir::failed(push(types, channels, elementOf(getInput()))));
}
OpCost BatchNormTrainingOp::cost() { return elementwiseCost(*this, 7); }

mlir::LogicalResult InstanceNormOp::inferTypes(Types& types) {
  return inferChannelNorm(*this, types);
}
OpCost InstanceNormOp::cost() { return elementwiseCost(*this, 7); }

mlir::LogicalResult LayerNormOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getInput(), "input")) ||
      mlir::failed(requireSameElement(*this, getInput(), getScale()))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  if (in) {
    auto rank = static_cast<int64_t>(in->size());
    if (mlir::failed(requireSignedAxis(*this, getAxis(), rank))) {
      return mlir::failure();
    }
    llvm::ArrayRef<Dim> tail =
        llvm::ArrayRef<Dim>(*in).drop_front(getAxis() < 0 ? getAxis() + rank : getAxis());
    for (mlir::Value parameter : getOperands().drop_front()) {
      std::optional<Dims> dims = dimsOf(parameter);
      if (dims && (dims->size() > tail.size() || !broadcast(tail, *dims))) {
        return emitOpError() << "parameter has shape " << toString(*dims)
                             << ", expected one that broadcasts to " << toString(tail);
      }
    }
  }
  return push(types, in, elementOf(getInput()));
}
OpCost LayerNormOp::cost() { return elementwiseCost(*this, 8); }

mlir::LogicalResult LrnOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getInput(), "input"))) {
    return mlir::failure();
  }
  if (getSize() < 1) {
    return emitOpError() << "size is " << getSize() << ", expected at least 1";
  }
  std::optional<Dims> in = dimsOf(getInput());
  if (in && in->size() < 3) {
    return emitOpError() << "input is of rank " << in->size() << ", expected at least 3";
  }
  return push(types, in, elementOf(getInput()));
}
OpCost LrnOp::cost() { return elementwiseCost(*this, 2 * getSize() + 34); }

mlir::LogicalResult SoftmaxOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getInput(), "input"))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  if (in && mlir::failed(requireSignedAxis(*this, getAxis(), static_cast<int64_t>(in->size()),
                                           /*least=*/1))) {
    return mlir::failure();
  }
  return push(types, in, elementOf(getInput()));
}
OpCost SoftmaxOp::cost() { return elementwiseCost(*this, 20); }

}  // namespace graphrun::ir
