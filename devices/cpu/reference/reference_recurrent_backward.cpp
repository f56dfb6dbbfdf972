// gr.recurrent_backward: every cell, activation and option, in f64. The sequences of a batch are
// independent of each other: each one runs on a thread.
#include <algorithm>

#include "devices/cpu/reference/reference_recurrent.h"

namespace graphrun::devices::cpu {
namespace {

using Cell = functions::activations::CellKind;

/// A Layer holds what is the same for all sequences. Operands that the cell does not have stay 0.
struct Layer {
  RecurrentCell cell;
  int64_t steps, batch, hidden;
  uint32_t sums, recurrent, carried, initial, outputGradient, lastGradient, lastStateGradient;
  RecurrentOptions options;
  uint32_t sumsGradient, hiddenGradient, stateGradient;

  /// Values of scratch for one sequence: the gradients of its sums and of r h, of the hidden values
  /// and of the state, and those to come.
  int64_t scratch() const { return (cell.parts() + 4) * hidden; }
};

absl::StatusOr<Layer> layerOf(const Instruction& instruction) {
  Layer layer{};
  GR_ASSIGN_OR_RETURN(layer.cell, RecurrentCell::of(instruction));
  const bool lstm = layer.cell.isLstm();
  const bool carries = layer.cell.kind != Cell::kRnn;
  const Dims& sums = instruction.inputs[0].desc.dims;
  const Dims& recurrent = instruction.inputs[1].desc.dims;
  if (sums.size() != 3 || recurrent.size() != 2) {
    return invalidInstruction(instruction, "the ranks of the operands do not fit");
  }
  layer.steps = sums[0];
  layer.batch = sums[1];
  layer.hidden = recurrent[1];
  const Dims all = {layer.steps, layer.batch, layer.hidden};
  const Dims last = {layer.batch, layer.hidden};
  bool fits = sums[2] == layer.cell.parts() * layer.hidden &&
              recurrent[0] == layer.cell.gates * layer.hidden;
  size_t next = 0;
  auto take = [&](bool there, const Dims& dims) -> uint32_t {
    if (!there || next >= instruction.inputs.size()) {
      fits = fits && !there;
      return 0;
    }
    const Argument& operand = instruction.inputs[next++];
    fits = fits && operand.desc.dims == dims;
    return operand.buffer;
  };
  layer.sums = take(true, sums);
  layer.recurrent = take(true, recurrent);
  layer.carried = take(carries, all);
  layer.initial = take(carries, last);
  layer.outputGradient = take(true, all);
  layer.lastGradient = take(true, last);
  layer.lastStateGradient = take(lstm, last);
  fits = fits && instruction.outputs.size() == (lstm ? 3U : 2U) &&
         instruction.outputs[0].desc.dims == sums && instruction.outputs[1].desc.dims == last &&
         instruction.outputs.back().desc.dims == last;
  if (!fits) {
    return invalidInstruction(instruction, "the shapes of operands and results do not fit");
  }
  layer.sumsGradient = instruction.outputs[0].buffer;
  layer.hiddenGradient = instruction.outputs[1].buffer;
  layer.stateGradient = instruction.outputs.back().buffer;
  GR_ASSIGN_OR_RETURN(layer.options, RecurrentOptions::of(instruction, next, layer.cell,
                                                          layer.batch, layer.hidden));
  return layer;
}

/// One sequence of the batch, on its way back from its last step.
template <typename T>
class Sequence {
 public:
  Sequence(const Layer& layer, void* const* buffers, int64_t index, double* scratch)
      : layer_(layer),
        buffers_(buffers),
        index_(index),
        size_(layer.hidden),
        parts_(scratch),
        hidden_(scratch + layer.cell.parts() * size_),
        state_(hidden_ + size_),
        before_(state_ + size_),
        reset_(before_ + size_) {}

  void run() {
    for (int64_t j = 0; j < size_; ++j) {
      hidden_[j] = at(layer_.lastGradient, index_ * size_ + j);
      state_[j] = layer_.cell.isLstm() ? at(layer_.lastStateGradient, index_ * size_ + j) : 0;
    }
    const int64_t length = layer_.options.lengthOf(buffers_, index_, layer_.steps);
    for (int64_t s = length; s-- > 0;) {
      const int64_t t = layer_.cell.reverse ? length - 1 - s : s;
      row_ = t * layer_.batch + index_;
      rowBefore_ = s == 0 ? -1 : row_ + (layer_.cell.reverse ? layer_.batch : -layer_.batch);
      for (int64_t j = 0; j < size_; ++j) {
        hidden_[j] += at(layer_.outputGradient, row_ * size_ + j);
      }
      std::fill(before_, before_ + size_, 0);
      goBack();
      std::swap(hidden_, before_);
      write(layer_.sumsGradient, row_ * width(), parts_, width());
    }
    for (int64_t t = length; t < layer_.steps; ++t) {
      std::fill_n(to(layer_.sumsGradient) + (t * layer_.batch + index_) * width(), width(),
                  store<T>(0));
    }
    write(layer_.hiddenGradient, index_ * size_, hidden_, size_);
    if (layer_.cell.isLstm()) {
      write(layer_.stateGradient, index_ * size_, state_, size_);
    }
  }

 private:
  int64_t width() const { return layer_.cell.parts() * size_; }
  double at(uint32_t buffer, int64_t i) const {
    return load(static_cast<const T*>(buffers_[buffer])[i]);
  }
  T* to(uint32_t buffer) const { return static_cast<T*>(buffers_[buffer]); }
  void write(uint32_t buffer, int64_t first, const double* from, int64_t count) const {
    std::transform(from, from + count, to(buffer) + first,
                   [](double x) { return store<T>(static_cast<Compute<T>>(x)); });
  }

  double sum(int64_t part, int64_t j) const {
    return at(layer_.sums, row_ * width() + part * size_ + j);
  }
  /// The hidden value of a GRU, or the state of an LSTM, before this step.
  double carriedBefore(int64_t j) const {
    return rowBefore_ < 0 ? at(layer_.initial, index_ * size_ + j)
                          : at(layer_.carried, rowBefore_ * size_ + j);
  }
  double peephole(int64_t part, int64_t j) const {
    const std::optional<uint32_t>& weights = layer_.options.peepholes;
    return weights ? at(*weights, part * size_ + j) : 0;
  }
  /// Adds to `sums` the recurrent weights of gate `gate`, transposed, times `gradient`.
  void addProduct(int64_t gate, const double* gradient, double* sums) const {
    const T* rows = static_cast<const T*>(buffers_[layer_.recurrent]) + gate * size_ * size_;
    for (int64_t i = 0; i < size_; ++i) {
      for (int64_t k = 0; k < size_; ++k) {
        sums[k] += gradient[i] * static_cast<double>(load(rows[i * size_ + k]));
      }
    }
  }

  /// Makes the gradients of this step's sums, and those of the values before the step.
  void goBack() {
    switch (layer_.cell.kind) {
      case Cell::kRnn:
        for (int64_t j = 0; j < size_; ++j) {
          parts_[j] = hidden_[j] * layer_.cell.slope(0, sum(0, j));
        }
        return addProduct(0, parts_, before_);
      case Cell::kGru:
        return gru();
      case Cell::kLstm:
        return lstm();
    }
  }

  void lstm() {
    const RecurrentCell& cell = layer_.cell;
    for (int64_t j = 0; j < size_; ++j) {
      const double in = cell.activate(0, sum(0, j));
      const double forget = cell.inputForget ? 1 - in : cell.activate(0, sum(1, j));
      const double state = at(layer_.carried, row_ * size_ + j);
      const double before = carriedBefore(j);
      double& out = parts_[3 * size_ + j];
      out = hidden_[j] * cell.activateState(state) * cell.slope(0, sum(3, j));
      const double change = state_[j] + out * peephole(2, j) +
                            hidden_[j] * cell.activate(0, sum(3, j)) * cell.stateSlope(state);
      const double fresh = cell.activate(1, sum(2, j));
      const double whole = cell.inputForget ? fresh - before : fresh;
      parts_[j] = change * whole * cell.slope(0, sum(0, j));
      parts_[size_ + j] = cell.inputForget ? 0 : change * before * cell.slope(0, sum(1, j));
      parts_[2 * size_ + j] = change * in * cell.slope(1, sum(2, j));
      state_[j] = change * forget + parts_[j] * peephole(0, j) + parts_[size_ + j] * peephole(1, j);
    }
    for (int64_t gate = 0; gate < 4; ++gate) {
      addProduct(gate, parts_ + gate * size_, before_);
    }
  }

  void gru() {
    const RecurrentCell& cell = layer_.cell;
    double* update = parts_;
    double* reset = parts_ + size_;
    double* fresh = parts_ + 2 * size_;
    for (int64_t j = 0; j < size_; ++j) {
      const double z = cell.activate(0, sum(0, j));
      fresh[j] = hidden_[j] * (1 - z) * cell.slope(1, sum(2, j));
      update[j] =
          hidden_[j] * (carriedBefore(j) - cell.activate(1, sum(2, j))) * cell.slope(0, sum(0, j));
      before_[j] = hidden_[j] * z;
    }
    if (cell.linearBeforeReset) {
      double* past = parts_ + 3 * size_;
      for (int64_t j = 0; j < size_; ++j) {
        reset[j] = fresh[j] * sum(3, j) * cell.slope(0, sum(1, j));
        past[j] = fresh[j] * cell.activate(0, sum(1, j));
      }
      addProduct(2, past, before_);
    } else {
      std::fill(reset_, reset_ + size_, 0);
      addProduct(2, fresh, reset_);
      for (int64_t j = 0; j < size_; ++j) {
        reset[j] = reset_[j] * carriedBefore(j) * cell.slope(0, sum(1, j));
        before_[j] += reset_[j] * cell.activate(0, sum(1, j));
      }
    }
    addProduct(0, update, before_);
    addProduct(1, reset, before_);
  }

  const Layer& layer_;
  void* const* buffers_;
  int64_t index_;
  int64_t size_;
  double* parts_;   ///< the gradients of this step's sums
  double* hidden_;  ///< and of its hidden values
  double* state_;
  double* before_;  ///< of the hidden values before the step
  double* reset_;   ///< of r h
  int64_t row_ = 0;
  int64_t rowBefore_ = 0;  ///< -1: this is the first step
};

KernelOr createRecurrentBackward(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Layer layer, layerOf(instruction));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    std::vector<double> scratch(static_cast<size_t>(layer.batch * layer.scratch()));
    return makeKernel(
        [layer = std::move(layer), scratch = std::move(scratch)](void* const* buffers) mutable {
          int64_t work = layer.steps * layer.cell.gates * layer.hidden * layer.hidden;
          parallelFor(layer.batch, work, [&](int64_t b) {
            Sequence<T>(layer, buffers, b, scratch.data() + b * layer.scratch()).run();
          });
          return 0;
        });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.recurrent_backward", TypeRule::kRecurrent, createRecurrentBackward, 4, 9, 0},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceRecurrentBackward() { return kEntries; }

}  // namespace graphrun::devices::cpu
