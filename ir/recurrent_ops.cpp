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

mlir::LogicalResult checkCell(RecurrentOp op) {
  size_t wanted = cellOf(op.getCell()).activations;
  if (op.getActivations().size() != wanted || op.getAlphas().size() != wanted ||
      op.getBetas().size() != wanted) {
    return op.emitOpError() << "has " << op.getActivations().size() << " activations with "
                            << op.getAlphas().size() << " alphas and " << op.getBetas().size()
                            << " betas, expected " << wanted << " of each";
  }
  if ((op.getCell() == RecurrentCell::kLstm) != static_cast<bool>(op.getState())) {
    return op.emitOpError() << "state belongs to the lstm cell, and to no other";
  }
  if ((op.getPeepholes() && !op.getState()) || (op.getInputForget() && !op.getState())) {
    return op.emitOpError() << "peepholes and input_forget belong to the lstm cell";
  }
  if (op.getLinearBeforeReset() && op.getCell() != RecurrentCell::kGru) {
    return op.emitOpError() << "linear_before_reset belongs to the gru cell";
  }
  return mlir::success();
}

mlir::LogicalResult checkElements(RecurrentOp op) {
  if (mlir::failed(requireFloat(op, op.getInput(), "input"))) {
    return mlir::failure();
  }
  for (mlir::Value value : {op.getWeights(), op.getRecurrent(), op.getBias(), op.getHidden(),
                            op.getState(), op.getPeepholes()}) {
    if (value && mlir::failed(requireSameElement(op, op.getInput(), value))) {
      return mlir::failure();
    }
  }
  return op.getLengths() ? requireIntVector(op, op.getLengths(), "lengths") : mlir::success();
}

/// Fails unless `value` can have the shape `expected`.
mlir::LogicalResult requireShape(RecurrentOp op, mlir::Value value, llvm::StringRef name,
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
  return op.emitOpError() << name << " has shape " << toString(*dims) << ", expected "
                          << toString(expected);
}

}  // namespace

mlir::LogicalResult RecurrentOp::inferTypes(Types& types) {
  if (mlir::failed(checkCell(*this)) || mlir::failed(checkElements(*this))) {
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

}  // namespace graphrun::ir
