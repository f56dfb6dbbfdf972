// gr.recurrent: every cell, activation and option. The sequences of a batch are independent of each
// other: each one runs on a thread.
#include "devices/cpu/reference/reference_recurrent.h"

#include <algorithm>
#include <optional>

namespace graphrun::devices::cpu {
namespace {

namespace activations = functions::activations;
using Cell = activations::CellKind;

absl::StatusOr<Activation> activationOf(const Instruction& instruction, absl::string_view name,
                                        double alpha, double beta) {
  struct Row {
    absl::string_view name;
    double (*function)(double, double, double);
    double (*derivative)(double, double, double);
  };
  static constexpr Row kRows[] = {
#define GR_ACTIVATION(Kind, name, parameters, usualAlpha, usualBeta) \
  {#name,                                                            \
   [](double x, double a, double b) {                                \
     activations::Numbers numbers;                                   \
     return activations::Kind::apply(numbers, x, a, b);              \
   },                                                                \
   activations::Kind::slope},
#include "devices/functions/recurrent.def"
  };
  for (const Row& row : kRows) {
    if (row.name == name) {
      return Activation{row.function, row.derivative, alpha, beta};
    }
  }
  return invalidInstruction(instruction, absl::StrCat("activation \"", name, "\" is unknown"));
}

}  // namespace

absl::StatusOr<RecurrentCell> RecurrentCell::of(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::string name, attribute<std::string>(instruction, "cell"));
  const activations::Cell* row = activations::cellOf(name);
  if (row == nullptr) {
    return invalidInstruction(instruction, absl::StrCat("cell \"", name, "\" is unknown"));
  }
  RecurrentCell cell{};
  cell.kind = row->kind;
  cell.gates = row->gates;
  GR_ASSIGN_OR_RETURN(auto names, attribute<std::vector<std::string>>(instruction, "activations"));
  GR_ASSIGN_OR_RETURN(auto alphas, attribute<std::vector<double>>(instruction, "alphas"));
  GR_ASSIGN_OR_RETURN(auto betas, attribute<std::vector<double>>(instruction, "betas"));
  size_t wanted = row->usual.size();
  if (names.size() != wanted || alphas.size() != wanted || betas.size() != wanted) {
    return invalidInstruction(instruction, absl::StrCat("needs ", wanted, " activations"));
  }
  for (size_t i = 0; i < wanted; ++i) {
    GR_ASSIGN_OR_RETURN(Activation a, activationOf(instruction, names[i], alphas[i], betas[i]));
    cell.activations.push_back(a);
  }
  GR_ASSIGN_OR_RETURN(cell.reverse, attributeOr(instruction, "reverse", false));
  GR_ASSIGN_OR_RETURN(cell.linearBeforeReset,
                      attributeOr(instruction, "linear_before_reset", false));
  GR_ASSIGN_OR_RETURN(cell.inputForget, attributeOr(instruction, "input_forget", false));
  GR_ASSIGN_OR_RETURN(cell.clip, attributeOr(instruction, "clip", 0.0));
  if (cell.linearBeforeReset && cell.kind != Cell::kGru) {
    return invalidInstruction(instruction, "linear_before_reset is for the gru cell");
  }
  return cell;
}

absl::StatusOr<RecurrentOptions> RecurrentOptions::of(const Instruction& instruction, size_t next,
                                                      const RecurrentCell& cell, int64_t batch,
                                                      int64_t hidden) {
  RecurrentOptions options;
  for (; next < instruction.inputs.size(); ++next) {
    const Argument& operand = instruction.inputs[next];
    bool isLengths = !runtime::isFloat(operand.desc.type);
    Dims wanted = {isLengths ? batch : 3 * hidden};
    std::optional<uint32_t>& known = isLengths ? options.lengths : options.peepholes;
    if (known || operand.desc.dims != wanted || (!isLengths && !cell.isLstm())) {
      return invalidInstruction(instruction, "the shapes of lengths or peepholes do not fit");
    }
    known = operand.buffer;
    if (isLengths) {
      GR_ASSIGN_OR_RETURN(options.readLength, intReader(instruction, operand.desc));
    }
  }
  return options;
}

namespace {

/// A Layer holds what is the same for all sequences. Operands that are left out have no place among
/// the buffers.
struct Layer {
  RecurrentCell cell;
  int64_t steps, batch, inputs, hidden;
  bool keepsSums;
  uint32_t x, weights, recurrent, bias, initial;
  std::optional<uint32_t> state;
  RecurrentOptions options;
  std::vector<uint32_t> results;

  /// Values of scratch for one sequence: the gates, hidden, state, and the hidden values to come.
  int64_t scratch() const { return (cell.gates + 4) * hidden; }
  /// The results without those that are kept.
  size_t plainResults() const { return cell.isLstm() ? 3 : 2; }
  /// True where states, or r h, are kept beside the sums.
  bool keepsInner() const {
    return keepsSums && cell.kind != Cell::kRnn && !cell.linearBeforeReset;
  }
};

/// The shapes of the results.
std::vector<Dims> resultsOf(const Layer& layer) {
  Dims all = {layer.steps, layer.batch, layer.hidden};
  std::vector<Dims> results = {all};
  results.resize(layer.plainResults(), {layer.batch, layer.hidden});
  if (layer.keepsSums) {
    results.push_back({layer.steps, layer.batch, layer.cell.parts() * layer.hidden});
  }
  if (layer.keepsInner()) {
    results.push_back(all);
  }
  return results;
}

absl::StatusOr<Layer> layerOf(const Instruction& instruction) {
  Layer layer{};
  GR_ASSIGN_OR_RETURN(layer.cell, RecurrentCell::of(instruction));
  GR_ASSIGN_OR_RETURN(layer.keepsSums, attributeOr(instruction, "keep_sums", false));
  auto dims = [&](size_t i) -> const Dims& { return instruction.inputs[i].desc.dims; };
  if (dims(0).size() != 3 || dims(2).size() != 2) {
    return invalidInstruction(instruction, "the ranks of the operands do not fit");
  }
  layer.steps = dims(0)[0];
  layer.batch = dims(0)[1];
  layer.inputs = dims(0)[2];
  layer.hidden = dims(2)[1];
  int64_t rows = layer.cell.gates * layer.hidden;
  Dims last = {layer.batch, layer.hidden};
  bool fits = dims(2)[0] == rows && dims(1) == Dims{rows, layer.inputs} &&
              dims(3) == Dims{layer.cell.parts() * layer.hidden} && dims(4) == last;
  std::vector<Dims> results = resultsOf(layer);
  fits = fits && std::equal(results.begin(), results.end(), instruction.outputs.begin(),
                            instruction.outputs.end(), [](const Dims& a, const Argument& result) {
                              return a == result.desc.dims;
                            });
  if (!fits) {
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
  if (layer.cell.isLstm()) {
    if (instruction.inputs.size() < 6 || dims(5) != last) {
      return invalidInstruction(instruction, "an lstm needs a state of the hidden values' shape");
    }
    layer.state = instruction.inputs[5].buffer;
  }
  GR_ASSIGN_OR_RETURN(layer.options, RecurrentOptions::of(instruction, layer.state ? 6 : 5,
                                                          layer.cell, layer.batch, layer.hidden));
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
        hidden_(scratch + layer.cell.gates * size_),
        state_(hidden_ + size_),
        next_(state_ + size_),
        reset_(next_ + size_) {}

  void run() {
    read(layer_.initial, hidden_);
    if (layer_.state) {
      read(*layer_.state, state_);
    }
    int64_t length = layer_.options.lengthOf(buffers_, index_, layer_.steps);
    for (int64_t s = 0; s < length; ++s) {
      int64_t t = layer_.cell.reverse ? length - 1 - s : s;
      keepAt(t);
      advance(data(layer_.x) + (t * layer_.batch + index_) * layer_.inputs);
      std::swap(hidden_, next_);
      write(result(0) + (t * layer_.batch + index_) * size_, hidden_);
    }
    for (int64_t t = length; t < layer_.steps; ++t) {
      clear(result(0) + (t * layer_.batch + index_) * size_, size_);
      keepAt(t);
      clear(sums_, sums_ == nullptr ? 0 : layer_.cell.parts() * size_);
      clear(inner_, inner_ == nullptr ? 0 : size_);
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
  static void clear(T* to, int64_t count) { std::fill_n(to, count, store<T>(C{0})); }

  /// Sums and inner values are kept for step `t` from now on, where they are asked for.
  void keepAt(int64_t t) {
    int64_t row = t * layer_.batch + index_;
    size_t first = layer_.plainResults();
    sums_ = layer_.keepsSums ? result(first) + row * layer_.cell.parts() * size_ : nullptr;
    inner_ = layer_.keepsInner() ? result(first + 1) + row * size_ : nullptr;
  }
  /// The sum `x` of element `j` of a part, kept.
  C kept(int64_t part, int64_t j, C x) const {
    if (sums_ != nullptr) {
      sums_[part * size_ + j] = store<T>(x);
    }
    return x;
  }
  void keepInner(const C* values) const {
    if (inner_ != nullptr) {
      write(inner_, values);
    }
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
    for (int64_t i = 0; i < layer_.cell.gates * size_; ++i) {
      const T* row = data(layer_.weights) + i * layer_.inputs;
      C sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t k = 0; k < layer_.inputs; ++k) {
        sum += load(row[k]) * load(x[k]);
      }
      gates_[i] = sum + biasAt(i);
    }
    switch (layer_.cell.kind) {
      case Cell::kRnn:
        return rnn();
      case Cell::kGru:
        return gru();
      case Cell::kLstm:
        return lstm();
    }
  }

  C activate(size_t which, C x) const { return static_cast<C>(layer_.cell.activate(which, x)); }

  void rnn() {
    for (int64_t j = 0; j < size_; ++j) {
      next_[j] = activate(0, kept(0, j, gates_[j] + recurrentRow(j, hidden_)));
    }
  }

  void gru() {
    for (int64_t i = 0; i < 2 * size_; ++i) {
      gates_[i] = activate(0, kept(0, i, gates_[i] + recurrentRow(i, hidden_)));
    }
    const C* update = gates_;
    const C* reset = gates_ + size_;
    for (int64_t j = 0; j < size_; ++j) {
      reset_[j] = reset[j] * hidden_[j];
    }
    keepInner(reset_);
    for (int64_t j = 0; j < size_; ++j) {
      int64_t row = 2 * size_ + j;
      C past = layer_.cell.linearBeforeReset
                   ? reset[j] * kept(3, j, recurrentRow(row, hidden_) + biasAt(row + size_))
                   : recurrentRow(row, reset_);
      C fresh = activate(1, kept(2, j, gates_[row] + past));
      next_[j] = (1 - update[j]) * fresh + update[j] * hidden_[j];
    }
  }

  C peephole(int64_t gate, int64_t j) const {
    const std::optional<uint32_t>& weights = layer_.options.peepholes;
    return weights ? load(data(*weights)[gate * size_ + j]) * state_[j] : C{0};
  }

  void lstm() {
    for (int64_t i = 0; i < 4 * size_; ++i) {
      gates_[i] += recurrentRow(i, hidden_);
    }
    for (int64_t j = 0; j < size_; ++j) {
      C in = activate(0, kept(0, j, gates_[j] + peephole(0, j)));
      C forget = activate(0, kept(1, j, gates_[size_ + j] + peephole(1, j)));
      forget = layer_.cell.inputForget ? 1 - in : forget;
      state_[j] = forget * state_[j] + in * activate(1, kept(2, j, gates_[2 * size_ + j]));
      C out = activate(0, kept(3, j, gates_[3 * size_ + j] + peephole(2, j)));
      next_[j] = out * static_cast<C>(layer_.cell.activateState(state_[j]));
    }
    keepInner(state_);
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
  T* sums_ = nullptr;   ///< of this step, or null: they are not kept
  T* inner_ = nullptr;  ///< the same
};

KernelOr createRecurrent(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Layer layer, layerOf(instruction));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    std::vector<Compute<T>> scratch(static_cast<size_t>(layer.batch * layer.scratch()));
    return makeKernel([layer = std::move(layer),
                       scratch = std::move(scratch)](void* const* buffers) mutable {
      int64_t work = layer.steps * layer.cell.gates * layer.hidden * (layer.hidden + layer.inputs);
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
