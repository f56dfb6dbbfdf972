// gr.recurrent: every cell, activation and option. The sequences of a batch are independent of each
// other: each one runs on a thread.
#include <algorithm>
#include <optional>

#include "devices/cpu/reference/reference_support.h"
#include "devices/functions/activations.h"

namespace graphrun::devices::cpu {
namespace {

namespace activations = functions::activations;
using Cell = activations::CellKind;

/// One activation function and its parameters.
struct Activation {
  double (*function)(double x, double alpha, double beta);
  double alpha;
  double beta;
  double operator()(double x) const { return function(x, alpha, beta); }
};

absl::StatusOr<Activation> activationOf(const Instruction& instruction, absl::string_view name,
                                        double alpha, double beta) {
  struct Row {
    absl::string_view name;
    double (*function)(double, double, double);
  };
  static constexpr Row kRows[] = {
#define GR_ACTIVATION(Kind, name, parameters, usualAlpha, usualBeta) \
  {#name, [](double x, double a, double b) {                         \
     activations::Numbers numbers;                                   \
     return activations::Kind::apply(numbers, x, a, b);              \
   }},
#include "devices/functions/recurrent.def"
  };
  for (const Row& row : kRows) {
    if (row.name == name) {
      return Activation{row.function, alpha, beta};
    }
  }
  return invalidInstruction(instruction, absl::StrCat("activation \"", name, "\" is unknown"));
}

/// A Layer holds what is the same for all sequences. Operands that are left out have no place among
/// the buffers.
struct Layer {
  Cell cell;
  int64_t steps, batch, inputs, hidden;
  std::vector<Activation> activations;
  bool reverse, linearBeforeReset, inputForget;
  double clip;
  uint32_t x, weights, recurrent, bias, initial;
  std::optional<uint32_t> state, lengths, peepholes;
  ReadInt readLength = nullptr;
  std::vector<uint32_t> results;

  int64_t gates = 0;
  /// Values of scratch for one sequence: the gates, hidden, state, and the hidden values to come.
  int64_t scratch() const { return (gates + 4) * hidden; }
  double activate(size_t which, double x) const {
    return activations[which](clip > 0 ? std::clamp(x, -clip, clip) : x);
  }
  /// The state's own activation: sums of gates are clipped, the state is not.
  double activateState(double x) const { return activations[2](x); }
};

absl::Status readAttributes(const Instruction& instruction, Layer& layer) {
  GR_ASSIGN_OR_RETURN(std::string cell, attribute<std::string>(instruction, "cell"));
  const activations::Cell* row = activations::cellOf(cell);
  if (row == nullptr) {
    return invalidInstruction(instruction, absl::StrCat("cell \"", cell, "\" is unknown"));
  }
  layer.cell = row->kind;
  layer.gates = row->gates;
  GR_ASSIGN_OR_RETURN(auto names, attribute<std::vector<std::string>>(instruction, "activations"));
  GR_ASSIGN_OR_RETURN(auto alphas, attribute<std::vector<double>>(instruction, "alphas"));
  GR_ASSIGN_OR_RETURN(auto betas, attribute<std::vector<double>>(instruction, "betas"));
  size_t wanted = row->usual.size();
  if (names.size() != wanted || alphas.size() != wanted || betas.size() != wanted) {
    return invalidInstruction(instruction, absl::StrCat("needs ", wanted, " activations"));
  }
  for (size_t i = 0; i < wanted; ++i) {
    GR_ASSIGN_OR_RETURN(Activation a, activationOf(instruction, names[i], alphas[i], betas[i]));
    layer.activations.push_back(a);
  }
  GR_ASSIGN_OR_RETURN(layer.reverse, attributeOr(instruction, "reverse", false));
  GR_ASSIGN_OR_RETURN(layer.linearBeforeReset,
                      attributeOr(instruction, "linear_before_reset", false));
  GR_ASSIGN_OR_RETURN(layer.inputForget, attributeOr(instruction, "input_forget", false));
  GR_ASSIGN_OR_RETURN(layer.clip, attributeOr(instruction, "clip", 0.0));
  return absl::OkStatus();
}

/// The optional operands: a state belongs to an lstm, lengths are integers.
absl::Status readOptional(const Instruction& instruction, Layer& layer) {
  size_t next = 5;
  if (layer.cell == Cell::kLstm) {
    if (instruction.inputs.size() < 6 ||
        instruction.inputs[next].desc.dims != Dims{layer.batch, layer.hidden}) {
      return invalidInstruction(instruction, "an lstm needs a state of the hidden values' shape");
    }
    layer.state = instruction.inputs[next++].buffer;
  }
  for (; next < instruction.inputs.size(); ++next) {
    const Argument& operand = instruction.inputs[next];
    bool isLengths = !runtime::isFloat(operand.desc.type);
    Dims wanted = {isLengths ? layer.batch : 3 * layer.hidden};
    std::optional<uint32_t>& known = isLengths ? layer.lengths : layer.peepholes;
    if (known || operand.desc.dims != wanted || (!isLengths && layer.cell != Cell::kLstm)) {
      return invalidInstruction(instruction, "the shapes of lengths or peepholes do not fit");
    }
    known = operand.buffer;
    if (isLengths) {
      GR_ASSIGN_OR_RETURN(layer.readLength, intReader(instruction, operand.desc));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Layer> layerOf(const Instruction& instruction) {
  Layer layer{};
  GR_RETURN_IF_ERROR(readAttributes(instruction, layer));
  const Dims& x = instruction.inputs[0].desc.dims;
  const Dims& recurrent = instruction.inputs[2].desc.dims;
  if (x.size() != 3 || recurrent.size() != 2) {
    return invalidInstruction(instruction, "the ranks of the operands do not fit");
  }
  layer.steps = x[0];
  layer.batch = x[1];
  layer.inputs = x[2];
  layer.hidden = recurrent[1];
  int64_t rows = layer.gates * layer.hidden;
  int64_t biases = rows + (layer.linearBeforeReset ? layer.hidden : 0);
  Dims last = {layer.batch, layer.hidden};
  size_t results = layer.cell == Cell::kLstm ? 3 : 2;
  bool fits = recurrent[0] == rows && instruction.inputs[1].desc.dims == Dims{rows, layer.inputs} &&
              instruction.inputs[3].desc.dims == Dims{biases} &&
              instruction.inputs[4].desc.dims == last && instruction.outputs.size() == results &&
              instruction.outputs[0].desc.dims == Dims{layer.steps, layer.batch, layer.hidden} &&
              std::all_of(instruction.outputs.begin() + 1, instruction.outputs.end(),
                          [&](const Argument& result) { return result.desc.dims == last; });
  if (!fits || (layer.linearBeforeReset && layer.cell != Cell::kGru)) {
    return invalidInstruction(instruction, "the shapes of operands and results do not fit");
  }
  layer.x = instruction.inputs[0].buffer;
  layer.weights = instruction.inputs[1].buffer;
  layer.recurrent = instruction.inputs[2].buffer;
  layer.bias = instruction.inputs[3].buffer;
  layer.initial = instruction.inputs[4].buffer;
  for (const Argument& result : instruction.outputs) {
    layer.results.push_back(result.buffer);
  }
  GR_RETURN_IF_ERROR(readOptional(instruction, layer));
  return layer;
}

/// One sequence of the batch, on its way through the cell.
template <typename T>
class Sequence {
 public:
  using C = Compute<T>;

  Sequence(const Layer& layer, void* const* buffers, int64_t index, C* scratch)
      : layer_(layer),
        buffers_(buffers),
        index_(index),
        size_(layer.hidden),
        gates_(scratch),
        hidden_(scratch + layer.gates * size_),
        state_(hidden_ + size_),
        next_(state_ + size_),
        reset_(next_ + size_) {}

  void run() {
    read(layer_.initial, hidden_);
    if (layer_.state) {
      read(*layer_.state, state_);
    }
    int64_t length = layer_.steps;
    if (layer_.lengths) {
      length = layer_.readLength(buffers_[*layer_.lengths], index_);
      length = std::clamp<int64_t>(length, 0, layer_.steps);
    }
    for (int64_t s = 0; s < length; ++s) {
      int64_t t = layer_.reverse ? length - 1 - s : s;
      advance(data(layer_.x) + (t * layer_.batch + index_) * layer_.inputs);
      std::swap(hidden_, next_);
      write(result(0) + (t * layer_.batch + index_) * size_, hidden_);
    }
    for (int64_t t = length; t < layer_.steps; ++t) {
      T* out = result(0) + (t * layer_.batch + index_) * size_;
      std::fill(out, out + size_, store<T>(C{0}));
    }
    write(result(1) + index_ * size_, hidden_);
    if (layer_.state) {
      write(result(2) + index_ * size_, state_);
    }
  }

 private:
  const T* data(uint32_t buffer) const { return static_cast<const T*>(buffers_[buffer]); }
  T* result(size_t i) const { return static_cast<T*>(buffers_[layer_.results[i]]); }
  void read(uint32_t buffer, C* to) const {
    const T* from = data(buffer) + index_ * size_;
    std::transform(from, from + size_, to, [](T x) { return load(x); });
  }
  void write(T* to, const C* from) const {
    std::transform(from, from + size_, to, [](C x) { return store<T>(x); });
  }

  C biasAt(int64_t i) const { return load(data(layer_.bias)[i]); }
  /// Row `i` of the recurrent weights times `v`.
  C recurrentRow(int64_t i, const C* v) const {
    const T* row = data(layer_.recurrent) + i * size_;
    C sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < size_; ++k) {
      sum += load(row[k]) * v[k];
    }
    return sum;
  }

  void advance(const T* x) {
    for (int64_t i = 0; i < layer_.gates * size_; ++i) {
      const T* row = data(layer_.weights) + i * layer_.inputs;
      C sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t k = 0; k < layer_.inputs; ++k) {
        sum += load(row[k]) * load(x[k]);
      }
      gates_[i] = sum + biasAt(i);
    }
    switch (layer_.cell) {
      case Cell::kRnn:
        return rnn();
      case Cell::kGru:
        return gru();
      case Cell::kLstm:
        return lstm();
    }
  }

  C activate(size_t which, C x) const { return static_cast<C>(layer_.activate(which, x)); }

  void rnn() {
    for (int64_t j = 0; j < size_; ++j) {
      next_[j] = activate(0, gates_[j] + recurrentRow(j, hidden_));
    }
  }

  void gru() {
    for (int64_t i = 0; i < 2 * size_; ++i) {
      gates_[i] = activate(0, gates_[i] + recurrentRow(i, hidden_));
    }
    const C* update = gates_;
    const C* reset = gates_ + size_;
    for (int64_t j = 0; j < size_; ++j) {
      reset_[j] = reset[j] * hidden_[j];
    }
    for (int64_t j = 0; j < size_; ++j) {
      int64_t row = 2 * size_ + j;
      C past = layer_.linearBeforeReset
                   ? reset[j] * (recurrentRow(row, hidden_) + biasAt(row + size_))
                   : recurrentRow(row, reset_);
      C fresh = activate(1, gates_[row] + past);
      next_[j] = (1 - update[j]) * fresh + update[j] * hidden_[j];
    }
  }

  C peephole(int64_t gate, int64_t j) const {
    return layer_.peepholes ? load(data(*layer_.peepholes)[gate * size_ + j]) * state_[j] : C{0};
  }

  void lstm() {
    for (int64_t i = 0; i < 4 * size_; ++i) {
      gates_[i] += recurrentRow(i, hidden_);
    }
    for (int64_t j = 0; j < size_; ++j) {
      C in = activate(0, gates_[j] + peephole(0, j));
      C forget = layer_.inputForget ? 1 - in : activate(0, gates_[size_ + j] + peephole(1, j));
      state_[j] = forget * state_[j] + in * activate(1, gates_[2 * size_ + j]);
      C out = activate(0, gates_[3 * size_ + j] + peephole(2, j));
      next_[j] = out * static_cast<C>(layer_.activateState(state_[j]));
    }
  }

  const Layer& layer_;
  void* const* buffers_;
  int64_t index_;
  int64_t size_;
  C* gates_;
  C* hidden_;
  C* state_;
  C* next_;
  C* reset_;
};

KernelOr createRecurrent(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Layer layer, layerOf(instruction));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    std::vector<Compute<T>> scratch(static_cast<size_t>(layer.batch * layer.scratch()));
    return makeKernel(
        [layer = std::move(layer), scratch = std::move(scratch)](void* const* buffers) mutable {
          int64_t work = layer.steps * layer.gates * layer.hidden * (layer.hidden + layer.inputs);
          parallelFor(layer.batch, work, [&](int64_t b) {
            Sequence<T>(layer, buffers, b, scratch.data() + b * layer.scratch()).run();
          });
          return 0;
        });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.recurrent", TypeRule::kRecurrent, createRecurrent, 5, 8, 0},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceRecurrent() { return kEntries; }

}  // namespace graphrun::devices::cpu
