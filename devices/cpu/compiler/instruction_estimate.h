// An estimate tells how long an instruction takes, before it was measured.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_INSTRUCTION_ESTIMATE_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_INSTRUCTION_ESTIMATE_H_

#include "devices/cpu/runtime/kernel_list.h"

namespace graphrun::devices::cpu {

/// A guess in nanoseconds that ranks the candidates for one operation on one CPU: work by the rate
/// of its implementation, or bytes by bandwidth, whichever takes longer. Not a prediction.
double estimateNanos(const Instruction& instruction, const Candidate& candidate, int threads);

/// The same for reading a tensor once and writing it once.
double moveNanos(const TensorDesc& desc, int threads);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_INSTRUCTION_ESTIMATE_H_
