// Runs one step on data of its own, to see how long it takes and what comes out.
#ifndef GRAPHRUN_DEVICES_CPU_STEP_TIMER_H_
#define GRAPHRUN_DEVICES_CPU_STEP_TIMER_H_

#include <cstdint>
#include <vector>

#include "devices/cpu/kernels.h"

namespace graphrun::devices::cpu {

/// What a trial of a step gave.
struct Trial {
  double nanos = 0;
  std::vector<float> result;  ///< the first output, dense
};

/// Times steps on the calling thread's device threads (see ScopedThreads). One thread.
class StepTimer {
 public:
  /// Runs `step` by `candidate` some times; the fastest run counts: other processes make a run
  /// slower, never faster. Operands hold the same pseudo-random elements whatever their layout, so
  /// that results can be compared: `wantResult` asks for them (f32 only). Large operands that are
  /// laid out at load are cold each time, as a weight is that was last read one inference ago; the
  /// others are warm. Fails as making or running the kernel fails; ResourceExhausted without memory
  /// for it.
  absl::StatusOr<Trial> run(const Step& step, const Candidate& candidate, bool wantResult);
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_STEP_TIMER_H_
