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
  int64_t gates;
  int64_t steps, batch, hidden;
  bool reverse;
  bool resetsFirst;  ///< a GRU that multiplies r h, not R h + d with r

  bool isLstm() const { return kind == functions::activations::CellKind::kLstm; }
  /// Sums of a hidden value: the gates', and R h + d of a GRU whose reset comes last.
  int64_t parts() const { return gates + (isGru() && !resetsFirst ? 1 : 0); }
  /// States of an LSTM, or r h of a GRU, are kept beside the sums.
  bool keepsInner() const { return isLstm() || resetsFirst; }
  /// The step that is done as number `done`.
  int64_t stepAt(int64_t done) const { return reverse ? steps - 1 - done : done; }

  /// A plan with the attributes of gr.recurrent or gr.recurrent_backward, and these sizes.
  /// Unimplemented for other types, options and activations, for operands that are not dense, and
  /// for layers without elements.
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

/// `width` hidden values of one sequence at one step, on the way forward. The sums of a stage and
/// what is kept of all sums are parts, `stride` and `size` values apart.
struct CellStep {
  const float* sums;
  const float* firstSums;  ///< of the first stage
  int64_t stride;
  float* kept;
  int64_t size;
  const float* hidden;  ///< before the step
  const float* state;   ///< before the step; of an LSTM
  float* nextHidden;
  float* inner;  ///< the state behind the step, or r h
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
  float* hidden;               ///< the gradient behind the step; replaced by what of it goes on
  float* stateGradient;        ///< behind the step; replaced by that before it
  const float* innerGradient;  ///< of r h
  int64_t width;
};

namespace cells {

using Lane = functions::Lanes<float>;
inline float sigmoidOf(float x) { return functions::sigmoid(Lane{x}).held; }
inline float tanhOf(float x) { return functions::hyperbolicTangent(Lane{x}).held; }

/// A run of parts of the sums that are a product with the weights of as many gates.
struct Parts {
  int64_t first, count, gate;
};
/// Sums that are made at once. The hidden values before the step are multiplied at the first stage,
/// r h at a second one. Runs of parts count from the stage's first.
struct Stage {
  int64_t first, parts;
  std::array<Parts, 2> inputs, recurrent;
};

/// h' = tanh(W x + R h + b).
struct Rnn {
  static constexpr int64_t kParts = 1;
  static constexpr std::array<Stage, 1> kStages = {{{0, 1, {{{0, 1, 0}}}, {{{0, 1, 0}}}}}};
  static constexpr std::array<Parts, 1> kRecurrent = {{{0, 1, 0}}};
  static constexpr bool kCarries = false;
  static constexpr bool kResetsFirst = false;

  template <size_t stage>
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
struct LinearGru {
  static constexpr int64_t kParts = 4;
  static constexpr std::array<Stage, 1> kStages = {
      {{0, 4, {{{0, 3, 0}}}, {{{0, 2, 0}, {3, 1, 2}}}}}};
  static constexpr std::array<Parts, 2> kRecurrent = kStages[0].recurrent;
  static constexpr bool kCarries = true;
  static constexpr bool kResetsFirst = false;

  template <size_t stage>
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

/// Update and reset, then the new value of R (r h): h' = (1 - z) n + z h.
struct Gru {
  static constexpr int64_t kParts = 3;
  static constexpr std::array<Stage, 2> kStages = {
      {{0, 2, {{{0, 2, 0}}}, {{{0, 2, 0}}}}, {2, 1, {{{0, 1, 2}}}, {{{0, 1, 2}}}}}};
  static constexpr std::array<Parts, 1> kRecurrent = {{{0, 2, 0}}};
  static constexpr Parts kInner = {2, 1, 2};  ///< the run of r h
  static constexpr bool kCarries = true;
  static constexpr bool kResetsFirst = true;

  template <size_t stage>
  static void advance(const CellStep& s) {
    if constexpr (stage == 0) {
      const float *z = s.sums, *r = z + s.stride;
#pragma omp simd
      for (int64_t j = 0; j < s.width; ++j) {
        s.kept[j] = z[j];
        s.kept[s.size + j] = r[j];
        s.inner[j] = sigmoidOf(r[j]) * s.hidden[j];
      }
    } else {
#pragma omp simd
      for (int64_t j = 0; j < s.width; ++j) {
        float fresh = tanhOf(s.sums[j]);
        s.kept[2 * s.size + j] = s.sums[j];
        s.nextHidden[j] = fresh + sigmoidOf(s.firstSums[j]) * (s.hidden[j] - fresh);
      }
    }
  }
  static void goBack(const CellStepBack& s) {
    const float *z = s.sums, *n = z + 2 * s.size;
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float update = sigmoidOf(z[j]);
      float fresh = tanhOf(n[j]);
      float change = s.hidden[j] + s.outputGradient[j];
      s.sumsGradient[j] = change * (s.carried[j] - fresh) * update * (1 - update);
      s.sumsGradient[2 * s.size + j] = change * (1 - update) * (1 - fresh * fresh);
      s.hidden[j] = change * update;
    }
  }
  /// The rest, when the gradient of r h is there.
  static void goBackThroughReset(const CellStepBack& s) {
    const float* r = s.sums + s.size;
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float reset = sigmoidOf(r[j]);
      s.sumsGradient[s.size + j] = s.innerGradient[j] * s.carried[j] * reset * (1 - reset);
      s.hidden[j] += s.innerGradient[j] * reset;
    }
  }
};

/// Gates i, f, c and o: s' = f s + i c, h' = o tanh(s').
struct Lstm {
  static constexpr int64_t kParts = 4;
  static constexpr std::array<Stage, 1> kStages = {{{0, 4, {{{0, 4, 0}}}, {{{0, 4, 0}}}}}};
  static constexpr std::array<Parts, 1> kRecurrent = {{{0, 4, 0}}};
  static constexpr bool kCarries = true;
  static constexpr bool kResetsFirst = false;

  template <size_t stage>
  static void advance(const CellStep& s) {
    const float *i = s.sums, *f = i + s.stride, *c = f + s.stride, *o = c + s.stride;
#pragma omp simd
    for (int64_t j = 0; j < s.width; ++j) {
      float state = sigmoidOf(f[j]) * s.state[j] + sigmoidOf(i[j]) * tanhOf(c[j]);
      s.kept[j] = i[j];
      s.kept[s.size + j] = f[j];
      s.kept[2 * s.size + j] = c[j];
      s.kept[3 * s.size + j] = o[j];
      s.inner[j] = state;
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
      return plan.resetsFirst ? run.template operator()<cells::Gru>()
                              : run.template operator()<cells::LinearGru>();
    case functions::activations::CellKind::kLstm:
      return run.template operator()<cells::Lstm>();
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_RECURRENT_CELLS_H_
