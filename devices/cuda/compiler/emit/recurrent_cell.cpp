#include "devices/cuda/compiler/emit/recurrent_cell.h"

#include <cassert>
#include <optional>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"
#include "devices/functions/activations.h"
#include "llvm/Support/ErrorHandling.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
namespace arith = mlir::arith;
namespace math = mlir::math;

/// Emits what functions/activations.h makes activations of.
class ActivationCode : public Arithmetic {
 public:
  ActivationCode(PointCode& code, mlir::Type type) : Arithmetic(code), code_(code), type_(type) {}

  using Arithmetic::number;
  mlir::Value number(double value) { return number(type_, value); }
  mlir::Value negative(mlir::Value x) { return make<arith::NegFOp>(x); }
  mlir::Value exp(mlir::Value x) { return make<math::ExpOp>(x); }
  mlir::Value expm1(mlir::Value x) { return make<math::ExpM1Op>(x); }
  mlir::Value log1p(mlir::Value x) { return make<math::Log1pOp>(x); }
  mlir::Value tanh(mlir::Value x) { return make<math::TanhOp>(x); }
  mlir::Value ifLess(mlir::Value x, mlir::Value y, mlir::Value below, mlir::Value otherwise) {
    return select(isLess(x, y), below, otherwise);
  }

 private:
  template <typename Op>
  mlir::Value make(mlir::Value x) {
    return code_.code().make<Op>(x);
  }

  PointCode& code_;
  mlir::Type type_;
};

/// Emits one cell's arithmetic for hidden value j of sequence b.
class CellBuilder {
 public:
  explicit CellBuilder(ir::RecurrentOp op)
      : op_(op),
        input_(tensorOf(op.getInput())),
        steps_(input_.getDimSize(0)),
        batch_(input_.getDimSize(1)),
        hidden_(tensorOf(op.getRecurrent()).getDimSize(1)),
        rows_(tensorOf(op.getRecurrent()).getDimSize(0)),
        code_(op, {batch_, hidden_}),
        math_(code_),
        memory_(codegen::memoryType(input_.getElementType())),
        type_(codegen::computeType(input_.getElementType())) {
    code_.addSizes({steps_, batch_, hidden_, rows_});
    for (int64_t gate = 0; gate <= 4; ++gate) {
      code_.addSizes({gate * hidden_});
    }
    code_.code().useTables(static_cast<size_t>(CellTable::kCount));
    code_.code().useStep();
  }

  /// The next hidden values and the state.
  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
      begin(index, number);
      mlir::Value hidden = code_.compute(result(1), number);
      mlir::Value next = op_.getCell() == ir::RecurrentCell::kLstm ? lstm()
                         : op_.getCell() == ir::RecurrentCell::kGru
                             ? gru(hidden)
                             : activate(0, sum(CellTable::kGates, 0));
      mlir::Value zero = real(0);
      mlir::Value row = code_.add(code_.times(time_, batch_), sequence_);
      mlir::Value to = code_.add(code_.times(row, hidden_), column_);
      code_.storeComputed(isReal_ ? code_.select(isReal_, next, zero) : next, result(0), to);
      code_.storeComputed(isReal_ ? code_.select(isReal_, next, hidden) : next, result(1), number);
    });
  }

  /// r h, for the product of a gru's candidate.
  KernelLaunch buildReset(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
      begin(index, number);
      mlir::Value reset = activate(0, sum(CellTable::kGates, 1));
      mlir::Value left = math_.multiply(reset, code_.compute(result(1), number));
      ThreadCode& thread = code_.code();
      left = codegen::toMemory(thread.builder(), thread.loc(), left, memory_);
      thread.store(left, address(CellTable::kReset, number));
    });
  }

 private:
  template <typename Op, typename... Args>
  mlir::Value make(const Args&... args) {
    return code_.code().make<Op>(args...);
  }
  mlir::Value real(double value) { return math_.number(type_, value); }
  unsigned result(unsigned index) const { return op_->getNumOperands() + index; }

  /// Which step of its own the sequence is at: none behind its end.
  void begin(llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    sequence_ = index[0];
    column_ = index[1];
    number_ = number;
    mlir::Value step = code_.code().step();
    mlir::Value length = code_.number(steps_);
    if (op_.getLengths()) {
      unsigned operand = op_.getState() ? 6 : 5;
      length = make<arith::IndexCastOp>(code_.code().builder().getIndexType(),
                                        code_.compute(operand, sequence_));
      length = make<arith::MinSIOp>(length, code_.number(steps_));
      isReal_ = code_.isLess(step, length);
    }
    mlir::Value last = code_.subtract(length, code_.constant(1));
    mlir::Value time = op_.getReverse() ? code_.subtract(last, step) : step;
    time_ = isReal_ ? code_.select(isReal_, time, step) : time;
  }

  mlir::Value address(CellTable table, mlir::Value offset) {
    return code_.code().tableAddress(static_cast<size_t>(table), memory_, offset);
  }
  mlir::Value fromTable(CellTable table, mlir::Value offset) {
    ThreadCode& thread = code_.code();
    mlir::Value value = thread.load(address(table, offset), memory_, 1);
    return codegen::fromMemory(thread.builder(), thread.loc(), value, type_);
  }
  /// Column j of a gate in rows of G*H.
  mlir::Value inRow(mlir::Value row, int64_t gate) {
    mlir::Value offset = code_.add(code_.times(row, rows_), column_);
    return gate == 0 ? offset : code_.add(offset, code_.number(gate * hidden_));
  }
  mlir::Value bias(int64_t gate) {
    return code_.compute(3, gate == 0 ? column_ : code_.add(column_, code_.number(gate * hidden_)));
  }
  mlir::Value ofInput(int64_t gate) {
    mlir::Value row = code_.add(code_.times(time_, batch_), sequence_);
    return math_.add(fromTable(CellTable::kInputs, inRow(row, gate)), bias(gate));
  }
  mlir::Value recurrent(CellTable table, int64_t gate) {
    return fromTable(table, inRow(sequence_, gate));
  }
  mlir::Value sum(CellTable table, int64_t gate) {
    return math_.add(ofInput(gate), recurrent(table, gate));
  }
  mlir::Value peephole(int64_t gate, mlir::Value state) {
    unsigned operand = op_->getNumOperands() - 1;
    mlir::Value offset = gate == 0 ? column_ : code_.add(column_, code_.number(gate * hidden_));
    return math_.multiply(code_.compute(operand, offset), state);
  }

  mlir::Value lstm() {
    mlir::Value state = code_.compute(result(2), number_);
    auto gate = [&](int64_t row, int64_t peep, mlir::Value seen) {
      mlir::Value x = sum(CellTable::kGates, row);
      return activate(0, op_.getPeepholes() ? math_.add(x, peephole(peep, seen)) : x);
    };
    mlir::Value in = gate(0, 0, state);
    mlir::Value forget = op_.getInputForget() ? math_.subtract(real(1), in) : gate(1, 1, state);
    mlir::Value fresh = activate(1, sum(CellTable::kGates, 2));
    mlir::Value next = math_.add(math_.multiply(forget, state), math_.multiply(in, fresh));
    mlir::Value out = gate(3, 2, next);
    code_.storeComputed(isReal_ ? code_.select(isReal_, next, state) : next, result(2), number_);
    return math_.multiply(out, function(2, next));
  }

  mlir::Value gru(mlir::Value hidden) {
    mlir::Value update = activate(0, sum(CellTable::kGates, 0));
    mlir::Value candidate;
    if (op_.getLinearBeforeReset()) {
      mlir::Value reset = activate(0, sum(CellTable::kGates, 1));
      mlir::Value past = math_.add(recurrent(CellTable::kGates, 2), bias(3));
      candidate = math_.add(ofInput(2), math_.multiply(reset, past));
    } else {
      candidate = sum(CellTable::kCandidate, 2);
    }
    mlir::Value fresh = math_.multiply(math_.subtract(real(1), update), activate(1, candidate));
    return math_.add(fresh, math_.multiply(update, hidden));
  }

  /// Applies the activation to a sum of gates, which is clipped where the operation asks for that.
  mlir::Value activate(size_t which, mlir::Value x) {
    double clip = op_.getClip().convertToDouble();
    return function(which, clip > 0 ? math_.clamped(x, real(-clip), real(clip)) : x);
  }

  mlir::Value function(size_t which, mlir::Value x) {
    auto name = llvm::cast<mlir::StringAttr>(op_.getActivations()[which]).getValue();
    mlir::Value alpha = real(op_.getAlphas()[which]), beta = real(op_.getBetas()[which]);
    ActivationCode code(code_, type_);
    std::optional<ir::RecurrentActivation> activation = ir::symbolizeRecurrentActivation(name);
    assert(activation && "an operation's words are verified");
    switch (activation.value_or(ir::RecurrentActivation())) {
#define GR_ACTIVATION(Kind, name, parameters, usualAlpha, usualBeta) \
  case ir::RecurrentActivation::k##Kind:                             \
    return functions::activations::Kind::apply(code, x, alpha, beta);
#include "devices/functions/recurrent.def"
    }
    llvm_unreachable("all activations are in the table");
  }

  ir::RecurrentOp op_;
  mlir::RankedTensorType input_;
  int64_t steps_, batch_, hidden_, rows_;
  PointCode code_;
  Arithmetic math_;
  mlir::Type memory_, type_;
  mlir::Value sequence_, column_, number_, time_, isReal_;  // null: all steps are real
};

}  // namespace

bool hasResetProduct(ir::RecurrentOp op) {
  return op.getCell() == ir::RecurrentCell::kGru && !op.getLinearBeforeReset();
}

std::string whyNotCell(ir::RecurrentOp op) {
  mlir::Type element = tensorOf(op.getInput()).getElementType();
  if (!ir::isComputed(element)) {
    return "gr.recurrent has an element type that is not computed in";
  }
  if (op.getKeepSums()) {
    return "gr.recurrent keeps its sums, which no cell on GPUs does";
  }
  if (mlir::Value lengths = op.getLengths()) {
    mlir::Type index = tensorOf(lengths).getElementType();
    if (!index.isInteger(32) && !index.isInteger(64)) {
      return "gr.recurrent has lengths that are neither i32 nor i64";
    }
  }
  return tensorOf(op->getResult(0)).getNumElements() == 0 ||
                 tensorOf(op.getInput()).getNumElements() == 0
             ? "gr.recurrent has no elements"
             : "";
}

OperationKernels buildCell(mlir::Operation* op) {
  auto recurrent = llvm::cast<ir::RecurrentOp>(op);
  OperationKernels kernels(op);
  if (hasResetProduct(recurrent)) {
    kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
      return CellBuilder(recurrent).buildReset(module, symbol);
    });
  }
  kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
    return CellBuilder(recurrent).build(module, symbol);
  });
  return kernels;
}

}  // namespace graphrun::devices::cuda
