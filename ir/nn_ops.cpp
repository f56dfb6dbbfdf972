// Types and costs of the nn family.
#include <algorithm>
#include <cmath>

#include "ir/infer.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::ir {
namespace {

/// A sliding window over the spatial dims of an operation, its attributes checked for size.
struct Window {
  llvm::ArrayRef<int64_t> strides, dilations, pads;
  llvm::StringRef padding;
};

template <typename Op>
Window windowOf(Op op) {
  return {op.getStrides(), op.getDilations(), op.getPads(), op.getPadding()};
}

mlir::LogicalResult checkWindow(mlir::Operation* op, const Window& window, size_t spatial) {
  auto size = [&](llvm::StringRef name, size_t got, size_t expected) -> mlir::LogicalResult {
    if (got == expected) {
      return mlir::success();
    }
    return op->emitOpError() << name << " has " << got << " entries, expected " << expected
                             << " for " << spatial << " spatial dims";
  };
  if (mlir::failed(size("strides", window.strides.size(), spatial)) ||
      mlir::failed(size("dilations", window.dilations.size(), spatial)) ||
      mlir::failed(size("pads", window.pads.size(), 2 * spatial))) {
    return mlir::failure();
  }
  for (int64_t value : llvm::concat<const int64_t>(window.strides, window.dilations)) {
    if (value < 1) {
      return op->emitOpError() << "strides and dilations must be at least 1, got " << value;
    }
  }
  if (window.padding != "explicit" && window.padding != "same_upper" &&
      window.padding != "same_lower") {
    return op->emitOpError() << "padding is \"" << window.padding
                             << "\", expected explicit, same_upper or same_lower";
  }
  return mlir::success();
}

/// Number of windows along spatial dim `i`.
Dim windowCount(const Window& window, size_t i, const Dim& in, int64_t kernel, bool ceilMode) {
  int64_t stride = window.strides[i];
  if (window.padding != "explicit") {
    return in.ceilDiv(stride);
  }
  size_t spatial = window.strides.size();
  int64_t extent = window.dilations[i] * (kernel - 1) + 1;
  int64_t margin = window.pads[spatial + i] - extent;  // after the input, less the last window
  Dim padded = in + Dim(window.pads[i]);
  if (!ceilMode) {
    return (padded + Dim(margin)).floorDiv(stride) + Dim(1);
  }
  // A window that starts in the padding at the end is dropped (as PyTorch and ONNX do): the count
  // is the lesser of ceil((padded + margin) / stride) + 1 and ceil(padded / stride).
  return (padded + Dim(std::min<int64_t>(margin + stride, 0))).ceilDiv(stride);
}

mlir::LogicalResult checkPositive(mlir::Operation* op, const Dim& dim, size_t i) {
  if (dim.isStatic() && dim.value() < 1) {
    return op->emitOpError() << "spatial dim " << i << " of the result would be " << dim.value()
                             << ": the window does not fit the padded input";
  }
  return mlir::success();
}

/// Checks rank and bias of a convolution; gives the dims of input and filter when both are ranked.
template <typename Op>
mlir::LogicalResult checkConvOperands(Op op, std::optional<Dims>& in, std::optional<Dims>& filter) {
  in = dimsOf(op.getInput());
  filter = dimsOf(op.getFilter());
  bool isInteger = elementOf(op.getInput()).isInteger(32) && std::is_same_v<Op, ConvOp>;
  if ((!isInteger && mlir::failed(requireFloat(op, op.getInput(), "input"))) ||
      mlir::failed(requireSameElement(op, op.getInput(), op.getFilter()))) {
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
    return push(types, std::nullopt, elementOf(getInput()));
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
    if (mlir::failed(checkPositive(*this, dims.back(), i))) {
      return mlir::failure();
    }
  }
  return push(types, dims, elementOf(getInput()));
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
    } else if (window.padding != "explicit") {
      dims.push_back((*in)[2 + i] * Dim(stride));
    } else if (kernel.isStatic()) {
      int64_t extent = window.dilations[i] * (kernel.value() - 1) + 1;
      dims.push_back(
          ((*in)[2 + i] - Dim(1)) * Dim(stride) +
          Dim(extent + getOutputPadding()[i] - window.pads[i] - window.pads[spatial + i]));
    } else {
      dims.push_back(Dim());
    }
    if (mlir::failed(checkPositive(*this, dims.back(), i))) {
      return mlir::failure();
    }
  }
  return push(types, dims, elementOf(getInput()));
}
OpCost ConvTransposeOp::cost() { return convCost(*this, getInput()); }

namespace {

template <typename Op>
mlir::LogicalResult inferPool(Op op, Types& types) {
  bool ordered = std::is_same_v<Op, MaxPoolOp>;  // enough for a maximum
  if (mlir::failed(ordered ? requireComputed(op, op.getInput(), "input")
                           : requireFloat(op, op.getInput(), "input"))) {
    return mlir::failure();
  }
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
    if (mlir::failed(checkPositive(op, dims.back(), i))) {
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

}  // namespace

mlir::LogicalResult MaxPoolOp::inferTypes(Types& types) { return inferPool(*this, types); }
OpCost MaxPoolOp::cost() { return poolCost(*this); }
mlir::LogicalResult AvgPoolOp::inferTypes(Types& types) { return inferPool(*this, types); }
OpCost AvgPoolOp::cost() { return poolCost(*this); }

mlir::LogicalResult BatchNormOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getInput(), "input")) ||
      mlir::failed(checkChannelVectors(*this, getInput(), getOperands().drop_front()))) {
    return mlir::failure();
  }
  return push(types, dimsOf(getInput()), elementOf(getInput()));
}
OpCost BatchNormOp::cost() { return elementwiseCost(*this, 2); }

mlir::LogicalResult InstanceNormOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getInput(), "input")) ||
      mlir::failed(checkChannelVectors(*this, getInput(), getOperands().drop_front()))) {
    return mlir::failure();
  }
  return push(types, dimsOf(getInput()), elementOf(getInput()));
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
    if (getAxis() < -rank || getAxis() >= rank) {
      return emitOpError() << "axis " << getAxis() << " is out of range for rank " << rank;
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
  if (in) {
    auto rank = static_cast<int64_t>(in->size());
    if (getAxis() < -rank || getAxis() >= std::max<int64_t>(rank, 1)) {
      return emitOpError() << "axis " << getAxis() << " is out of range for rank " << rank;
    }
  }
  return push(types, in, elementOf(getInput()));
}
OpCost SoftmaxOp::cost() { return elementwiseCost(*this, 20); }

mlir::LogicalResult ResizeOp::verify() {
  if (static_cast<bool>(getScales()) == static_cast<bool>(getSizes())) {
    return emitOpError() << "needs exactly one of scales and sizes";
  }
  auto oneOf = [&](llvm::StringRef name, llvm::StringRef value,
                   llvm::ArrayRef<llvm::StringRef> known) -> mlir::LogicalResult {
    if (llvm::is_contained(known, value)) {
      return mlir::success();
    }
    return emitOpError() << name << " is \"" << value << "\", expected one of "
                         << llvm::join(known, ", ");
  };
  if (mlir::failed(oneOf("mode", getMode(), {"nearest", "linear", "cubic"})) ||
      mlir::failed(oneOf("coordinates", getCoordinates(),
                         {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric",
                          "align_corners", "asymmetric"})) ||
      mlir::failed(oneOf("rounding", getRounding(),
                         {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))) {
    return mlir::failure();
  }
  return mlir::success();
}

mlir::LogicalResult ResizeOp::inferTypes(Types& types) {
  std::optional<Dims> in = dimsOf(getInput());
  if (!in) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  Dims dims(in->size());
  if (getSizes()) {
    std::optional<Dims> sizes = elementsOf(getSizes());
    if (sizes && sizes->size() != in->size()) {
      return emitOpError() << "sizes has " << sizes->size() << " elements, expected " << in->size();
    }
    for (const Dim& dim : sizes.value_or(Dims())) {
      if (dim.isStatic() && dim.value() < 0) {
        return emitOpError() << "sizes has the negative element " << dim.value();
      }
    }
    return push(types, sizes ? *sizes : dims, elementOf(getInput()));
  }
  mlir::DenseFPElementsAttr scales;
  if (getScales() && mlir::matchPattern(getScales(), mlir::m_Constant(&scales))) {
    if (scales.getNumElements() != static_cast<int64_t>(in->size())) {
      return emitOpError() << "scales has " << scales.getNumElements() << " elements, expected "
                           << in->size();
    }
    for (auto [dim, from, scale] : llvm::zip(dims, *in, scales.getValues<llvm::APFloat>())) {
      double factor = scale.convertToDouble();
      if (!(factor > 0)) {
        return emitOpError() << "scales has the element " << factor << ", expected one above 0";
      }
      if (from.isStatic()) {
        dim = Dim(static_cast<int64_t>(std::floor(static_cast<double>(from.value()) * factor)));
      } else if (factor == std::floor(factor) && factor >= 1) {
        dim = from * Dim(static_cast<int64_t>(factor));
      }
    }
  }
  return push(types, dims, elementOf(getInput()));
}

OpCost ResizeOp::cost() {
  return elementwiseCost(*this, getMode() == "nearest" ? 1 : getMode() == "linear" ? 8 : 40);
}

}  // namespace graphrun::ir
