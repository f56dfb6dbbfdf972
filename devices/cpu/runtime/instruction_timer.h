// Runs one instruction on data of its own, to see how long it takes.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_INSTRUCTION_TIMER_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_INSTRUCTION_TIMER_H_

#include "devices/cpu/runtime/kernel_list.h"

namespace graphrun::devices::cpu {

/// Times instructions on the calling thread's device threads (see ScopedThreads). One thread.
class InstructionTimer {
 public:
  /// Runs `instruction` by `candidate` some times, on pseudo-random elements. In nanoseconds, of
  /// the fastest run: other processes make a run slower, never faster. Large operands that are laid
  /// out at load are cold each time, as a weight is that was last read one inference ago; the
  /// others are warm. Fails as making or running the kernel fails; Unavailable without memory for
  /// it.
  absl::StatusOr<double> run(const Instruction& instruction, const Candidate& candidate);
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_INSTRUCTION_TIMER_H_
