// Types and costs of the random family.
#include "ir/infer.h"

namespace graphrun::ir {

mlir::LogicalResult RandomOp::inferTypes(Types& types) {
  if (!llvm::isa<mlir::FloatType>(getTo())) {
    return emitOpError() << "cannot make " << getTo() << ", expected a floating-point type";
  }
  if (getGenerator() == RandomGenerator::kMt19937 &&
      (getKind() != Distribution::kUniform || !getTo().isF64())) {
    return emitOpError() << "makes " << stringifyDistribution(getKind()) << " " << getTo()
                         << " with mt19937, expected uniform f64";
  }
  if (getStep() &&
      (getGenerator() != RandomGenerator::kPhilox || !elementOf(getStep()).isSignlessInteger(64))) {
    return emitOpError() << "has a step of type " << getStep().getType() << " for "
                         << stringifyRandomGenerator(getGenerator())
                         << ", expected one i64 for philox";
  }
  if (getStep() && mlir::failed(requireRank(*this, getStep(), "step", 0))) {
    return mlir::failure();
  }
  if (mlir::failed(requireIntVector(*this, getShape(), "shape"))) {
    return mlir::failure();
  }
  std::optional<Dims> shape = elementsOf(getShape());
  for (const Dim& dim : shape.value_or(Dims())) {
    if (dim.isStatic() && dim.value() < 0) {
      return emitOpError() << "shape has the negative dim " << dim.value();
    }
  }
  return push(types, dimsFromShape(getShape()), getTo());
}
// Ten rounds of two multiplications for two elements, and a transform.
OpCost RandomOp::cost() { return elementwiseCost(*this, 40); }

}  // namespace graphrun::ir
