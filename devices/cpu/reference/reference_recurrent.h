// gr.recurrent and its gradients share this: a cell's attributes and optional operands. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_RECURRENT_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_RECURRENT_H_

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "devices/cpu/reference/reference_support.h"
#include "devices/functions/activations.h"

namespace graphrun::devices::cpu {

/// One activation function, its derivative, and their parameters.
struct Activation {
  double (*function)(double x, double alpha, double beta);
  double (*derivative)(double x, double alpha, double beta);
  double alpha;
  double beta;
  double operator()(double x) const { return function(x, alpha, beta); }
  double slope(double x) const { return derivative(x, alpha, beta); }
};

/// The attributes of a layer.
struct RecurrentCell {
  functions::activations::CellKind kind;
  int64_t gates;
  std::vector<Activation> activations;
  bool reverse, linearBeforeReset, inputForget;
  double clip;

  /// Unknown words, and counts that do not fit the cell, are InvalidArgument.
  static absl::StatusOr<RecurrentCell> of(const Instruction& instruction);

  bool isLstm() const { return kind == functions::activations::CellKind::kLstm; }
  /// Sums of a hidden value; of a GRU whose reset comes last, R h + d is one more.
  int64_t parts() const { return gates + (linearBeforeReset ? 1 : 0); }
  double activate(size_t which, double x) const {
    return activations[which](clip > 0 ? std::clamp(x, -clip, clip) : x);
  }
  /// The derivative of `activate`.
  double slope(size_t which, double x) const {
    return clip > 0 && !(std::fabs(x) <= clip) ? 0 : activations[which].slope(x);
  }
  /// The activation of the state: sums are clipped, the state is not.
  double activateState(double x) const { return activations[2](x); }
  double stateSlope(double x) const { return activations[2].slope(x); }
};

/// The operands of a layer, or of its gradients, that may be left out: they have no place among an
/// instruction's.
struct RecurrentOptions {
  std::optional<uint32_t> lengths, peepholes;
  ReadInt readLength = nullptr;

  /// From operand `next` on: integers are lengths (B), others the peepholes (3*H) of an LSTM.
  static absl::StatusOr<RecurrentOptions> of(const Instruction& instruction, size_t next,
                                             const RecurrentCell& cell, int64_t batch,
                                             int64_t hidden);

  /// The length of sequence `index`, of at most `steps`.
  int64_t lengthOf(void* const* buffers, int64_t index, int64_t steps) const {
    return lengths ? std::clamp<int64_t>(readLength(buffers[*lengths], index), 0, steps) : steps;
  }
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_RECURRENT_H_
