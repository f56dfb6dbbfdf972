// The gradient rule of recurrent layers.
#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

/// The gradients of one layer. They are made of its sums, so the layer is computed once more with
/// those kept; simplification makes it one with what was there (KeepSumsOnce).
class LayerGradients {
 public:
  LayerGradients(GradientBuilder& b, RecurrentOp op) : b_(b), op_(op) {}

  void giveAll() {
    computeLayer();
    goBack();
    if (b_.wants(0)) {
      Term dInput = b_.matmul(rows(sumsOfInputs()), weights(), false, false);
      b_.give(0, b_.reshape(dInput, input().dims()));
    }
    if (b_.wants(1)) {
      b_.give(1, b_.matmul(rows(sumsOfInputs()), rows(input()), true, false));
    }
    if (b_.wants(2)) {
      b_.give(2, recurrentGradient());
    }
    if (b_.wants(3)) {
      b_.give(3, b_.reshape(b_.sum(rows(dSums_), {0}), {dSums_.dims()[2]}));
    }
    if (b_.wants(4)) {
      b_.give(4, gradients_[1]);
    }
    if (op_.getState() && b_.wants(5)) {
      b_.give(5, gradients_[2]);
    }
    const unsigned last = op_->getNumOperands() - 1;
    if (op_.getPeepholes() && b_.wants(last)) {
      b_.give(last, peepholeGradient());
    }
  }

 private:
  Term input() { return b_.wrap(op_.getInput()); }
  Term weights() { return b_.wrap(op_.getWeights()); }
  bool isGru() { return op_.getCell() == RecurrentCell::kGru; }
  int64_t hidden() { return kept_[0].dims()[2]; }

  /// The attributes of the layer but for those named.
  llvm::SmallVector<mlir::NamedAttribute> attributes() {
    llvm::SmallVector<mlir::NamedAttribute> attributes;
    for (mlir::NamedAttribute attribute : op_->getAttrs()) {
      llvm::StringRef name = attribute.getName();
      if (name != "operandSegmentSizes" && name != "keep_sums" && !name.starts_with("gr.")) {
        attributes.push_back(attribute);
      }
    }
    return attributes;
  }

  static int32_t given(mlir::Value value) { return value ? 1 : 0; }

  void computeLayer() {
    const bool hasInner = op_.getCell() != RecurrentCell::kRnn && !op_.getLinearBeforeReset();
    plain_ = op_.getState() ? 3 : 2;
    if (op_.getKeepSums()) {
      for (mlir::Value result : op_->getResults()) {
        kept_.push_back(b_.wrap(result));
      }
      return;
    }
    llvm::SmallVector<Term> operands;
    for (mlir::Value operand : op_->getOperands()) {
      operands.push_back(b_.wrap(operand));
    }
    llvm::SmallVector<mlir::NamedAttribute> with = attributes();
    with.push_back(b_.boolean("keep_sums", true));
    with.push_back(b_.segments({1, 1, 1, 1, 1, given(op_.getState()), given(op_.getLengths()),
                                given(op_.getPeepholes())}));
    kept_ = b_.emitMany("gr.recurrent", operands, with, plain_ + (hasInner ? 2 : 1));
  }

  /// The gradient of a result, as zeros where it is zero.
  Term gradientOf(unsigned result) {
    Term gradient = b_.gradient(result);
    return gradient.isZero() ? b_.full(kept_[result], 0) : gradient;
  }

  void goBack() {
    llvm::SmallVector<Term> operands = {kept_[plain_], b_.wrap(op_.getRecurrent())};
    const int32_t carries = op_.getCell() == RecurrentCell::kRnn ? 0 : 1;
    if (carries != 0) {
      operands.push_back(isGru() ? kept_[0] : states());
      operands.push_back(b_.wrap(isGru() ? op_.getHidden() : op_.getState()));
    }
    operands.push_back(gradientOf(0));
    operands.push_back(gradientOf(1));
    if (op_.getState()) {
      operands.push_back(gradientOf(2));
    }
    for (mlir::Value option : {op_.getLengths(), op_.getPeepholes()}) {
      if (option) {
        operands.push_back(b_.wrap(option));
      }
    }
    llvm::SmallVector<mlir::NamedAttribute> with = attributes();
    with.push_back(b_.segments({1, 1, carries, carries, 1, 1, given(op_.getState()),
                                given(op_.getLengths()), given(op_.getPeepholes())}));
    gradients_ = b_.emitMany("gr.recurrent_backward", operands, with, op_.getState() ? 3 : 2);
    dSums_ = gradients_[0];
  }

  /// The states of an LSTM at all steps; r h of a GRU.
  Term states() { return kept_[plain_ + 1]; }

  /// T x B x any as T*B x any.
  Term rows(Term x) { return b_.reshape(x, {x.dims()[0] * x.dims()[1], x.dims()[2]}); }
  Term partsOf(Term x, int64_t first, int64_t end) {
    return b_.slice(x, 2, first * hidden(), end * hidden());
  }
  /// The gradients of the sums that the inputs are in: all but R h + d.
  Term sumsOfInputs() { return op_.getLinearBeforeReset() ? partsOf(dSums_, 0, 3) : dSums_; }

  /// Values of all steps, T x B x H, as they were before each of them: `first` before the first.
  /// Beyond the lengths they are any numbers.
  Term valuesBefore(Term all, mlir::Value first) {
    const int64_t steps = all.dims()[0];
    const int64_t batch = all.dims()[1];
    if (steps == 0) {
      return all;
    }
    Term initial = b_.reshape(b_.wrap(first), {1, batch, hidden()});
    llvm::SmallVector<Term> parts = {initial};
    if (steps > 1) {
      Term others = b_.slice(all, 0, op_.getReverse() ? 1 : 0, steps - (op_.getReverse() ? 0 : 1));
      parts.insert(op_.getReverse() ? parts.begin() : parts.end(), others);
    }
    Term before = steps == 1 ? initial : b_.emit("gr.concat", parts, {b_.integer("axis", 0)});
    if (!op_.getLengths() || !op_.getReverse()) {
      return before;
    }
    // A sequence that is read from its end on begins at the last step within its length.
    Term positions = b_.positions(0, {steps, 1, 1});
    Term lengths = b_.castTo(b_.wrap(op_.getLengths()), positions.element());
    Term begins = equal(positions + 1, b_.reshape(lengths, {1, batch, 1}));
    return select(begins, initial, before);
  }

  /// Each gate's part is its sums' gradients times what its recurrent weights were multiplied with.
  Term recurrentGradient() {
    Term before = valuesBefore(kept_[0], op_.getHidden());
    if (!isGru()) {
      return b_.matmul(rows(dSums_), rows(before), true, false);
    }
    Term gates = b_.matmul(rows(partsOf(dSums_, 0, 2)), rows(before), true, false);
    Term fresh = op_.getLinearBeforeReset()
                     ? b_.matmul(rows(partsOf(dSums_, 3, 4)), rows(before), true, false)
                     : b_.matmul(rows(partsOf(dSums_, 2, 3)), rows(states()), true, false);
    return b_.emit("gr.concat", {gates, fresh}, {b_.integer("axis", 0)});
  }

  /// The gates i and f see the state before the step, o the one behind it.
  Term peepholeGradient() {
    Term before = valuesBefore(states(), op_.getState());
    llvm::SmallVector<Term> parts;
    for (int64_t gate : {0, 1, 3}) {
      Term products = partsOf(dSums_, gate, gate + 1) * (gate == 3 ? states() : before);
      parts.push_back(b_.reshape(b_.sum(products, {0, 1}), {hidden()}));
    }
    return b_.emit("gr.concat", parts, {b_.integer("axis", 0)});
  }

  GradientBuilder& b_;
  RecurrentOp op_;
  unsigned plain_ = 0;            ///< results that are not kept for gradients
  llvm::SmallVector<Term> kept_;  ///< the results of the layer with all that is kept
  llvm::SmallVector<Term> gradients_;
  Term dSums_;
};

}  // namespace

mlir::LogicalResult RecurrentOp::buildGradient(GradientBuilder& b) {
  const unsigned plain = getState() ? 3 : 2;
  for (unsigned i = plain; i < getNumResults(); ++i) {
    if (!b.gradient(i).isZero()) {
      return b.refuseAll("second derivatives of it are not known");
    }
  }
  LayerGradients(b, *this).giveAll();
  return mlir::success();
}

}  // namespace graphrun::ir
