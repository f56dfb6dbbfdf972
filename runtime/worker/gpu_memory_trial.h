// A trial tells whether a network carries the memory of a GPU, or of another kind of device with
// memory of its own: the library is asked, then it is tried.
#ifndef GRAPHRUN_RUNTIME_WORKER_GPU_MEMORY_TRIAL_H_
#define GRAPHRUN_RUNTIME_WORKER_GPU_MEMORY_TRIAL_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "devices/device.h"
#include "runtime/transport/transport.h"

namespace graphrun::runtime {

/// Makes a transport of the kind that is asked about, of this rank.
using TransportFactory = std::function<absl::StatusOr<std::unique_ptr<Transport>>(uint32_t rank)>;

/// Returns the error of tryGpuMemory where the network's library does not know such memory, by its
/// name.
absl::Status noGpuMemory(absl::string_view memory);

/// Sends a small and a large payload between two transports of this process, from memory of
/// `device`'s own to such memory. OK when the same bytes arrive; else what went wrong. Takes some
/// ms.
absl::Status tryGpuMemory(const TransportFactory& makeTransport, devices::DirectTransfers& device);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_GPU_MEMORY_TRIAL_H_
