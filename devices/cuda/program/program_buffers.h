// The memory on a GPU that a program's buffers lie in. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_PROGRAM_BUFFERS_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_PROGRAM_BUFFERS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/cuda/program/device_parts.h"
#include "devices/device.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// True for a buffer whose content session or executor bind: an input, output or received tensor.
bool isBound(const Buffer& buffer);

/// The arena, weights and constants, which other programs may share, and beside the arena memory
/// for each bound buffer. The context must be the thread's when it is made and when it goes.
class ProgramBuffers {
 public:
  /// Weights are copied by `upload`. ResourceExhausted where all together are more than `limit`
  /// bytes; 0: no limit.
  static absl::StatusOr<std::unique_ptr<ProgramBuffers>> create(const Executable& executable,
                                                                WeightSource& weights,
                                                                const DeviceParts& device,
                                                                const Stream& upload,
                                                                uint64_t limit);

  /// The addresses of the executable's buffers.
  absl::Span<const CUdeviceptr> addresses() const { return addresses_; }
  CUdeviceptr address(uint32_t buffer) const { return addresses_[buffer]; }
  uint64_t bytes() const { return bytes_; }
  /// The part of `bytes` that other programs had before this one.
  uint64_t sharedBytes() const { return sharedBytes_; }

 private:
  ProgramBuffers() = default;
  absl::Status store(const Buffer& buffer, WeightSource& weights, const DeviceParts& device,
                     const Stream& upload);

  std::unique_ptr<DeviceMemory> arena_;
  std::unique_ptr<DeviceMemory> bound_;
  std::vector<std::shared_ptr<const DeviceMemory>> stored_;  ///< weights and constants
  std::vector<CUdeviceptr> addresses_;
  uint64_t bytes_ = 0;
  uint64_t sharedBytes_ = 0;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_PROGRAM_BUFFERS_H_
