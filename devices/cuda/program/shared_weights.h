// Weights on a GPU that programs share. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_SHARED_WEIGHTS_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_SHARED_WEIGHTS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "devices/cuda/driver/device_memory.h"
#include "devices/device.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// The bytes that a weight's or constant's buffer holds, on the host: `given`, the dense elements
/// of its source (one for a splat) or what stands for them, laid out as the buffer's desc says; f32
/// is rounded to bf16 where that is wanted. InvalidArgument when `given` has another size than the
/// source, or for other types.
absl::StatusOr<std::vector<uint8_t>> layOut(const Buffer& buffer, absl::Span<const uint8_t> given);

/// Copies each weight to the GPU once for each layout that programs want it in. Memory goes with
/// the last program that uses it. Thread-safe.
class SharedWeights {
 public:
  SharedWeights(ContextPointer context, std::shared_ptr<const MemoryPool> pool)
      : context_(std::move(context)), pool_(std::move(pool)) {}

  struct Placed {
    std::shared_ptr<const DeviceMemory> memory;
    bool shared = false;  ///< another program has it too
  };
  /// The content of `buffer`, a weight or constant. A weight without a checksum and a constant are
  /// the caller's alone.
  absl::StatusOr<Placed> get(const Buffer& buffer, WeightSource& weights, const Stream& stream);

 private:
  absl::StatusOr<std::shared_ptr<const DeviceMemory>> upload(const Buffer& buffer,
                                                             absl::Span<const uint8_t> given,
                                                             const Stream& stream);

  ContextPointer context_;
  std::shared_ptr<const MemoryPool> pool_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const DeviceMemory>> placed_;  ///< by content and layout
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_SHARED_WEIGHTS_H_
