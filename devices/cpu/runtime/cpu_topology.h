// The topology says what the machine is, and what of it this process may use.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_TOPOLOGY_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphrun::devices::cpu {

/// Logical CPUs of the affinity mask of the process, ascending; only as many as the CPU quota of
/// its control groups (runtime/base/cgroup.h) pays for. At least one.
std::vector<uint32_t> allowedCores();

/// Model of the processor, its feature flags (as a hash), the instruction sets that may be used
/// (instructions.h), and the library's version.
std::string processorFingerprint();

/// Lets the calling thread, and threads that it starts, run on `cores` only. InvalidArgument for a
/// core that the process may not use.
absl::Status pinThread(absl::Span<const uint32_t> cores);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_TOPOLOGY_H_
