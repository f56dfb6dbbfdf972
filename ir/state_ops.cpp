// Types and costs of the state family.
#include "ir/infer.h"

namespace graphrun::ir {
mlir::LogicalResult StateOp::inferTypes(Types& types) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(getInit().getType());
  if (!type || !type.hasStaticShape() || isStrings(type)) {
    return emitOpError() << "begins as " << getInit().getType()
                         << ", expected a tensor of numbers whose shape is known";
  }
  if (getName().empty()) {
    return emitOpError() << "has an empty name";
  }
  types.push_back(type);
  return mlir::success();
}
// Nothing is done: the tensor is there.
OpCost StateOp::cost() { return {}; }

mlir::LogicalResult UpdateOp::inferTypes(Types& /*types*/) {
  auto state = getState().getDefiningOp<StateOp>();
  if (!state) {
    return emitOpError() << "updates a value that is no state, expected the result of a gr.state";
  }
  std::optional<Dims> dims = dimsOf(getValue());
  std::optional<Dims> own = dimsOf(getState());
  bool fits = elementOf(getValue()) == elementOf(getState());
  fits &= !dims || dims->size() == own->size();
  for (size_t i = 0; fits && dims && i < dims->size(); ++i) {
    fits = !provablyDifferent((*dims)[i], (*own)[i]);
  }
  if (!fits) {
    return emitOpError() << "makes the state '" << state.getName() << "' a value of type "
                         << getValue().getType() << ", expected the type of the state, "
                         << state.getType();
  }
  return mlir::success();
}
OpCost UpdateOp::cost() { return {}; }

}  // namespace graphrun::ir
