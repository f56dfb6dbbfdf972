// Versions tell whether two builds may work together.
#ifndef GRAPHRUN_RUNTIME_CONTROL_VERSIONS_H_
#define GRAPHRUN_RUNTIME_CONTROL_VERSIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/control/worker_handler.h"

namespace graphrun::runtime {

/// FailedPrecondition, with both versions and what to do, unless the protocol and the GraphRun
/// version are equal and UCX agrees in major and minor number (its wire format is not kept across
/// minor versions) where both ends have it. `ours` speaks kControlProtocol.
absl::Status checkCompatible(const BuildVersions& ours, uint32_t theirProtocol,
                             const BuildVersions& theirs);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_VERSIONS_H_
