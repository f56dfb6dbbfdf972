// Types and costs of recurrent layers.
#include "ir/infer.h"
#include "llvm/Support/ErrorHandling.h"

namespace graphrun::ir {
namespace {

/// These properties distinguish the recurrent cells.
struct Cell {
  int64_t gates;
  size_t activations;
};

Cell cellOf(RecurrentCell cell) {
  switch (cell) {
#define GR_CELL(Kind, name, gates, ...) \
  case RecurrentCell::k##Kind:          \
    return {gates, std::initializer_list<llvm::StringRef>{__VA_ARGS__}.size()};
#include "devices/functions/recurrent.def"
  }
  llvm_unreachable("verifyWords lets no other cell pass");
}

/// Checks the attributes of a layer, or of its gradients; `state` is there for an lstm.
template <typename Op>
mlir::LogicalResult checkCell(Op op, mlir::Value state) {
  size_t wanted = cellOf(op.getCell()).activations;
  if (op.getActivations().size() != wanted || op.getAlphas().size() != wanted ||
      op.getBetas().size() != wanted) {
    return op.emitOpError() << "has " << op.getActivations().size() << " activations with "
                            << op.getAlphas().size() << " alphas and " << op.getBetas().size()
                            << " betas, expected " << wanted << " of each";
  }
  if ((op.getCell() == RecurrentCell::kLstm) != static_cast<bool>(state)) {
    return op.emitOpError() << "state belongs to the lstm cell, and to no other";
  }
  if ((op.getPeepholes() && !state) || (op.getInputForget() && !state)) {
    return op.emitOpError() << "peepholes and input_forget belong to the lstm cell";
  }
  if (op.getLinearBeforeReset() && op.getCell() != RecurrentCell::kGru) {
    return op.emitOpError() << "linear_before_reset belongs to the gru cell";
  }
  return mlir::success();
}

/// Fails unless the first operand and all others but the lengths are of one floating-point type.
template <typename Op>
mlir::LogicalResult checkElements(Op op) {
  mlir::Value first = op->getOperand(0);
  if (mlir::failed(requireFloat(op, first, "input"))) {
    return mlir::failure();
  }
  for (mlir::Value value : op->getOperands()) {
    if (value != op.getLengths() && mlir::failed(requireSameElement(op, first, value))) {
      return mlir::failure();
    }
  }
  return op.getLengths() ? requireIntVector(op, op.getLengths(), "lengths") : mlir::success();
}

/// Fails unless `value` can have the shape `expected`.
mlir::LogicalResult requireShape(mlir::Operation* op, mlir::Value value, llvm::StringRef name,
                                 const Dims& expected) {
  std::optional<Dims> dims = value ? dimsOf(value) : std::nullopt;
  if (!dims) {
    return mlir::success();
  }
  bool fits = dims->size() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i) {
    fits = !provablyDifferent((*dims)[i], expected[i]);
  }
  if (fits) {
    return mlir::success();
  }
  return op->emitOpError() << name << " has shape " << toString(*dims) << ", expected "
                           << toString(expected);
}

}  // namespace

mlir::LogicalResult RecurrentOp::inferTypes(Types& types) {
  if (mlir::failed(checkCell(*this, getState())) || mlir::failed(checkElements(*this))) {
    return mlir::failure();
  }
  std::optional<Dims> in = dimsOf(getInput());
  std::optional<Dims> recurrent = dimsOf(getRecurrent());
  if (in && in->size() != 3) {
    return emitOpError() << "input is of rank " << in->size()
                         << ", expected 3 (steps, batch, features)";
  }
  if (recurrent && recurrent->size() != 2) {
    return emitOpError() << "recurrent is of rank " << recurrent->size() << ", expected 2";
  }
  Dim steps = in ? (*in)[0] : Dim();
  Dim batch = in ? (*in)[1] : Dim();
  Dim hidden = recurrent ? (*recurrent)[1] : Dim();
  int64_t gates = cellOf(getCell()).gates;
  Dim rows = hidden * Dim(gates);
  if (mlir::failed(requireShape(*this, getRecurrent(), "recurrent", {rows, hidden})) ||
      mlir::failed(requireShape(*this, getWeights(), "weights", {rows, in ? (*in)[2] : Dim()})) ||
      mlir::failed(requireShape(*this, getBias(), "bias",
                                {hidden * Dim(gates + (getLinearBeforeReset() ? 1 : 0))})) ||
      mlir::failed(requireShape(*this, getHidden(), "hidden", {batch, hidden})) ||
      mlir::failed(requireShape(*this, getState(), "state", {batch, hidden})) ||
      mlir::failed(requireShape(*this, getLengths(), "lengths", {batch})) ||
      mlir::failed(requireShape(*this, getPeepholes(), "peepholes", {hidden * Dim(3)}))) {
    return mlir::failure();
  }
  types.push_back(tensorType({steps, batch, hidden}, elementOf(getInput())));
  for (int i = 0; i < (getState() ? 2 : 1); ++i) {
    types.push_back(tensorType({batch, hidden}, elementOf(getInput())));
  }
  if (getKeepSums()) {
    int64_t parts = gates + (getLinearBeforeReset() ? 1 : 0);
    types.push_back(tensorType({steps, batch, hidden * Dim(parts)}, elementOf(getInput())));
    if (getCell() != RecurrentCell::kRnn && !getLinearBeforeReset()) {
      types.push_back(tensorType({steps, batch, hidden}, elementOf(getInput())));
    }
  }
  return mlir::success();
}

OpCost RecurrentOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto in = llvm::cast<mlir::ShapedType>(getInput().getType()).getShape();
    auto elements = [](mlir::Value value) {
      return llvm::cast<mlir::ShapedType>(value.getType()).getNumElements();
    };
    cost.flops = 2 * in[0] * in[1] * (elements(getWeights()) + elements(getRecurrent()));
  }
  return cost;
}

mlir::LogicalResult RecurrentBackwardOp::inferTypes(Types& types) {
  if (mlir::failed(checkCell(*this, getLastStateGradient())) ||
      mlir::failed(checkElements(*this))) {
    return mlir::failure();
  }
  const bool carries = getCell() != RecurrentCell::kRnn;
  if (carries != static_cast<bool>(getCarried()) || carries != static_cast<bool>(getInitial())) {
    return emitOpError() << "carried and initial values belong to the gru and the lstm cell";
  }
  if (mlir::failed(requireRank(*this, getSums(), "sums", 3)) ||
      mlir::failed(requireRank(*this, getRecurrent(), "recurrent", 2))) {
    return mlir::failure();
  }
  std::optional<Dims> sums = dimsOf(getSums());
  std::optional<Dims> recurrent = dimsOf(getRecurrent());
  Dim steps = sums ? (*sums)[0] : Dim();
  Dim batch = sums ? (*sums)[1] : Dim();
  Dim hidden = recurrent ? (*recurrent)[1] : Dim();
  const int64_t gates = cellOf(getCell()).gates;
  const Dim parts(gates + (getLinearBeforeReset() ? 1 : 0));
  const Dims all = {steps, batch, hidden};
  const Dims last = {batch, hidden};
  if (mlir::failed(requireShape(*this, getSums(), "sums", {steps, batch, hidden * parts})) ||
      mlir::failed(
          requireShape(*this, getRecurrent(), "recurrent", {hidden * Dim(gates), hidden})) ||
      mlir::failed(requireShape(*this, getCarried(), "carried", all)) ||
      mlir::failed(requireShape(*this, getInitial(), "initial", last)) ||
      mlir::failed(requireShape(*this, getOutputGradient(), "output_gradient", all)) ||
      mlir::failed(requireShape(*this, getLastGradient(), "last_gradient", last)) ||
      mlir::failed(requireShape(*this, getLastStateGradient(), "last_state_gradient", last)) ||
      mlir::failed(requireShape(*this, getLengths(), "lengths", {batch})) ||
      mlir::failed(requireShape(*this, getPeepholes(), "peepholes", {hidden * Dim(3)}))) {
    return mlir::failure();
  }
  types.push_back(tensorType({steps, batch, hidden * parts}, elementOf(getSums())));
  for (int i = 0; i < (getLastStateGradient() ? 2 : 1); ++i) {
    types.push_back(tensorType(last, elementOf(getSums())));
  }
  return mlir::success();
}

OpCost RecurrentBackwardOp::cost() {
  OpCost cost = elementwiseCost(*this, 0);
  if (cost.bytesRead > 0) {
    auto sums = llvm::cast<mlir::ShapedType>(getSums().getType()).getShape();
    auto weights = llvm::cast<mlir::ShapedType>(getRecurrent().getType());
    cost.flops = 2 * sums[0] * sums[1] * weights.getNumElements();
  }
  return cost;
}

}  // namespace graphrun::ir
