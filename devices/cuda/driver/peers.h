// Copies from one GPU to another of this process. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_PEERS_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_PEERS_H_

#include <memory>

#include "absl/status/status.h"
#include "devices/cuda/driver/device_memory.h"

namespace graphrun::devices::cuda {

/// Something on a GPU that another GPU may fetch. What an edge between two GPUs of a process hands
/// over: the sender keeps it, and what it tells of, until the step ends.
struct DeviceValue {
  CUdeviceptr address = 0;
  CUcontext context = nullptr;
  const Event* made = nullptr;  ///< it is there when this has come
};

/// Puts a copy of `bytes` of `value` to `to` in `context` into `stream`, which is of that context
/// and goes on when the value is there.
absl::Status fetch(const DeviceValue& value, const Context& context, CUdeviceptr to, size_t bytes,
                   const Stream& stream);

/// OK if memory of pool `from` can be copied to pool `to` without the host's, else the reason.
/// Gives `to`'s GPU access to `from`, and tries: there are machines where the driver says yes and
/// other bytes arrive. Takes some ms.
absl::Status checkPeers(const std::shared_ptr<const MemoryPool>& from,
                        const std::shared_ptr<const MemoryPool>& to);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_PEERS_H_
