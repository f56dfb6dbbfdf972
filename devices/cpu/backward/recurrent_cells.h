// Kernels of recurrent layers that are trained share this: cells with their usual activations, as
// loops over hidden values, and checks of instructions. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_CELLS_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_CELLS_H_

#include <array>

#include "devices/cpu/base/kernel.h"
#include "devices/functions/activations.h"
#include "devices/functions/exponentials.h"
#include "devices/functions/lanes.h"

namespace graphrun::devices::cpu {

/// The sizes of a layer of f32 that has no options but `reverse` and its cell's usual activations.
struct RecurrentPlan {
  functions::activations::CellKind kind;
  int64_t steps, batch, hidden;
  bool reverse;

  bool isLstm() const { return kind == functions::activations::CellKind::kLstm; }
  int64_t gates() const { return isLstm() ? 4 : isGru() ? 3 : 1; }
  /// Sums of a hidden value: the gates', and R h + d of a GRU.
  int64_t parts() const { return isGru() ? 4 : gates(); }
  /// The step that is done as number `done`.
  int64_t stepAt(int64_t done) const { return reverse ? steps - 1 - done : done; }

  /// A plan with the attributes of gr.recurrent or gr.recurrent_backward, and these sizes.
  /// Unimplemented for other types, options and activations, for a GRU whose reset comes first, for
  /// operands that are not dense, and for layers without elements.
  static absl::StatusOr<RecurrentPlan> of(const Instruction& instruction, int64_t steps,
                                          int64_t batch, int64_t hidden);

 private:
  bool isGru() const { return kind == functions::activations::CellKind::kGru; }
};

/// The layouts of an instruction that RecurrentPlan::of accepts: dense. `floats` of scratch memory.
LayoutChoice denseLayouts(const Instruction& instruction, int64_t floats);

/// True if `arguments` have `dims`, one a tensor.
bool haveDims(const std::vector<Argument>& arguments,
              const std::vector<std::vector<int64_t>>& dims);

/// Calls `run.template operator()<Cell>()` for the cell of a plan.
template <typename Run>
void dispatchCell(const RecurrentPlan& plan, const Run& run);

/// `width` hidden values of one sequence at one step, on the way forward. The sums and what is kept
/// of them are parts, `stride` and `size` values apart.
struct CellStep {
  const float* sums;
  int64_t stride;
  float* kept;
  int64_t size;
  const float* hidden;  ///< before the step
  const float* state;   ///< before the step; of an LSTM
  float* nextHidden;
  float* nextState;
  int64_t width;
};

/// The same on the way back. `sums` and their gradients are parts, `size` values apart.
struct CellStepBack {
  const float* sums;
  float* sumsGradient;
  int64_t size;
  const float* carried;  ///< before the step: hidden values of a GRU, states of an LSTM
  const float* state;    ///< behind the step; of an LSTM
  const float* outputGradient;
  float* hidden;         ///< the gradient behind the step; replaced by what of it goes on
  float* stateGradient;  ///< behind the step; replaced by that before it
  int64_t width;
};

namespace cells {

using Lane = functions::Lanes<float>;
inline float sigmoidOf(float x) { return functions::sigmoid(Lane{x}).held; }
inline float tanhOf(float x) { return functions::hyperbolicTangent(Lane{x}).held; }

/// A run of parts of the sums that are a product with the recurrent weights of as many gates.
struct Parts {
  int64_t first, count, gate;
};

/// h' = tanh(W x + R h + b).
struct Rnn {
  static constexpr int64_t kParts = 1;
  static constexpr std::array<Parts, 1> kInputs = {{{0, 1, 0}}};
  static constexpr std::array<Parts, 1> kRecurrent = {{{0, 1, 0}}};
  static constexpr bool kCarries = false;

  static void advance(const CellStep& s) {
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      s.kept[j] = s.sums[j];
      s.nextHidden[j] = tanhOf(s.sums[j]);
    }
  }
  static void goBack(const CellStepBack& s) {
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float y = tanhOf(s.sums[j]);
      s.sumsGradient[j] = (s.hidden[j] + s.outputGradient[j]) * (1 - y * y);
      s.hidden[j] = 0;
    }
  }
};

/// Update and reset, the new value's part of the inputs, R h + d: h' = (1 - z) n + z h.
struct Gru {
  static constexpr int64_t kParts = 4;
  static constexpr std::array<Parts, 1> kInputs = {{{0, 3, 0}}};
  static constexpr std::array<Parts, 2> kRecurrent = {{{0, 2, 0}, {3, 1, 2}}};
  static constexpr bool kCarries = true;

  static void advance(const CellStep& s) {
    const float *z = s.sums, *r = z + s.stride, *n = r + s.stride, *q = n + s.stride;
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float update = sigmoidOf(z[j]);
      float whole = n[j] + sigmoidOf(r[j]) * q[j];
      float fresh = tanhOf(whole);
      s.kept[j] = z[j];
      s.kept[s.size + j] = r[j];
      s.kept[2 * s.size + j] = whole;
      s.kept[3 * s.size + j] = q[j];
      s.nextHidden[j] = fresh + update * (s.hidden[j] - fresh);
    }
  }
  static void goBack(const CellStepBack& s) {
    const float *z = s.sums, *r = z + s.size, *n = r + s.size, *q = n + s.size;
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float update = sigmoidOf(z[j]);
      float reset = sigmoidOf(r[j]);
      float fresh = tanhOf(n[j]);
      float change = s.hidden[j] + s.outputGradient[j];
      float past = change * (1 - update) * (1 - fresh * fresh);
      s.sumsGradient[j] = change * (s.carried[j] - fresh) * update * (1 - update);
      s.sumsGradient[s.size + j] = past * q[j] * reset * (1 - reset);
      s.sumsGradient[2 * s.size + j] = past;
      s.sumsGradient[3 * s.size + j] = past * reset;
      s.hidden[j] = change * update;
    }
  }
};

/// Gates i, f, c and o: s' = f s + i c, h' = o tanh(s').
struct Lstm {
  static constexpr int64_t kParts = 4;
  static constexpr std::array<Parts, 1> kInputs = {{{0, 4, 0}}};
  static constexpr std::array<Parts, 1> kRecurrent = {{{0, 4, 0}}};
  static constexpr bool kCarries = true;

  static void advance(const CellStep& s) {
    const float *i = s.sums, *f = i + s.stride, *c = f + s.stride, *o = c + s.stride;
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float state = sigmoidOf(f[j]) * s.state[j] + sigmoidOf(i[j]) * tanhOf(c[j]);
      s.kept[j] = i[j];
      s.kept[s.size + j] = f[j];
      s.kept[2 * s.size + j] = c[j];
      s.kept[3 * s.size + j] = o[j];
      s.nextState[j] = state;
      s.nextHidden[j] = sigmoidOf(o[j]) * tanhOf(state);
    }
  }
  static void goBack(const CellStepBack& s) {
    const float *i = s.sums, *f = i + s.size, *c = f + s.size, *o = c + s.size;
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float in = sigmoidOf(i[j]), forget = sigmoidOf(f[j]), fresh = tanhOf(c[j]);
      float out = sigmoidOf(o[j]), shown = tanhOf(s.state[j]);
      float change = s.hidden[j] + s.outputGradient[j];
      float state = s.stateGradient[j] + change * out * (1 - shown * shown);
      s.sumsGradient[j] = state * fresh * in * (1 - in);
      s.sumsGradient[s.size + j] = state * s.carried[j] * forget * (1 - forget);
      s.sumsGradient[2 * s.size + j] = state * in * (1 - fresh * fresh);
      s.sumsGradient[3 * s.size + j] = change * shown * out * (1 - out);
      s.stateGradient[j] = state * forget;
      s.hidden[j] = 0;
    }
  }
};

}  // namespace cells

template <typename Run>
void dispatchCell(const RecurrentPlan& plan, const Run& run) {
  switch (plan.kind) {
    case functions::activations::CellKind::kRnn:
      return run.template operator()<cells::Rnn>();
    case functions::activations::CellKind::kGru:
      return run.template operator()<cells::Gru>();
    case functions::activations::CellKind::kLstm:
      return run.template operator()<cells::Lstm>();
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_CELLS_H_
