// Types and costs of signal processing.
#include <cmath>

#include "ir/infer.h"

namespace graphrun::ir {

mlir::LogicalResult DftOp::inferTypes(Types& types) {
  if (mlir::failed(requireFloat(*this, getInput(), "input"))) {
    return mlir::failure();
  }
  if (getLength() < 0) {
    return emitOpError() << "length is " << getLength() << ", expected at least 0";
  }
  std::optional<Dims> dims = dimsOf(getInput());
  if (!dims) {
    return push(types, std::nullopt, elementOf(getInput()));
  }
  auto rank = static_cast<int64_t>(dims->size());
  if (rank < 2 || getAxis() < 0 || getAxis() > rank - 2) {
    return emitOpError() << "axis is " << getAxis() << ", expected 0 to " << rank - 2
                         << " for an input of rank " << rank
                         << " (its last dim holds real and imaginary part)";
  }
  const Dim& parts = dims->back();
  bool real = getInverse() && getOnesided();
  if (parts.isStatic() && parts.value() != 2 && (parts.value() != 1 || real)) {
    return emitOpError() << "the last dim of the input is " << parts.value() << ", expected "
                         << (real ? "2 (complex numbers)" : "1 (real) or 2 (complex numbers)");
  }
  if (getOnesided() && !real && provablyDifferent(parts, Dim(1))) {
    return emitOpError() << "gives one side of the spectrum of a real signal, but the input's last "
                            "dim is "
                         << parts.value() << ", expected 1";
  }
  Dim& size = (*dims)[getAxis()];
  Dim length = getLength() > 0 ? Dim(getLength()) : real ? (size - Dim(1)) * Dim(2) : size;
  if (length.isStatic() && length.value() < 1) {
    return emitOpError() << "transforms " << length.value() << " values, expected at least 1";
  }
  size = getOnesided() && !real ? length.floorDiv(2) + Dim(1) : length;
  dims->back() = Dim(real ? 1 : 2);
  return push(types, dims, elementOf(getInput()));
}

OpCost DftOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto shape = llvm::cast<mlir::ShapedType>(getType()).getShape();
    auto n = static_cast<double>(std::max<int64_t>(shape[getAxis()], 1));
    auto count = static_cast<double>(llvm::cast<mlir::ShapedType>(getType()).getNumElements());
    cost.flops = static_cast<int64_t>(2.5 * count * std::log2(n + 1));
  }
  return cost;
}

}  // namespace graphrun::ir
