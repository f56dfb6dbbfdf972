// Instruction costs are the measured or estimated times of an instruction's candidates on a device.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_INSTRUCTION_COSTS_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_INSTRUCTION_COSTS_H_

#include <vector>

#include "devices/cpu/compiler/work_item.h"
#include "devices/cpu/runtime/instruction_timer.h"
#include "devices/cpu/runtime/timings.h"
#include "devices/device_compiler.h"

namespace graphrun::devices::cpu {

/// One compilation's view of a device's timings. One thread, under the ScopedThreads of the device.
class InstructionCosts {
 public:
  /// `tuning` outlives this; its timings are read now and written by `finish`.
  InstructionCosts(Tuning& tuning, int threads);

  /// Sets the time of each candidate for one instruction and takes out those that are far slower by
  /// estimate. Measures what is not known yet while the budget lasts; where one of them stays
  /// unmeasured all are estimated.
  void judge(std::vector<WorkCandidate>& candidates);

  /// Without looking at what was measured; on one thread where the choice must not depend on them.
  double estimate(const WorkCandidate& candidate) const;

  /// Returns whether `instruction` may be over on one thread before all of the device's have begun.
  bool isShort(const Instruction& instruction, const Candidate& candidate) const;

  /// Returns whether algorithms may round more than the operation itself.
  bool allowsApproximation() const { return tuning_.numerics == runtime::Numerics::kFast; }

  /// Returns whether the kernel of an instruction follows from the instruction alone: not from what
  /// was measured, from the instructions around it or from the number of threads.
  bool isDeterministic() const { return tuning_.numerics == runtime::Numerics::kDeterministic; }

  /// Returns the time of a copy of a tensor in another layout.
  double reorderNanos(const TensorDesc& desc) const;

  /// Leaves what is known now in the tuning.
  void finish();

 private:
  int threadsOf(const Instruction& instruction) const;
  bool measure(std::vector<WorkCandidate>& candidates);
  /// Nothing when it fails or the budget is spent.
  std::optional<double> measureOne(const WorkCandidate& candidate);

  Tuning& tuning_;
  int threads_;
  int64_t leftNanos_;
  Timings timings_;
  bool measured_ = false;  // something is in `timings_` that was not given
  InstructionTimer timer_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_INSTRUCTION_COSTS_H_
