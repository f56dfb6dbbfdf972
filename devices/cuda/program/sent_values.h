// The events and the memory of tensors that leave a program. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_SENT_VALUES_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_SENT_VALUES_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/cuda/driver/peers.h"
#include "devices/cuda/driver/pinned_pool.h"

namespace graphrun::devices::cuda {

/// A tensor leaves by the host's memory, in page-locked memory of its own unless it is bound; by an
/// event that another GPU waits for before it fetches; or by memory that network adapters read. The
/// context must be the thread's in all calls, and when it goes. Pointers stay valid as long as it
/// lives.
class SentValues {
 public:
  SentValues(ContextPointer context, std::shared_ptr<PinnedPool> pinned)
      : context_(std::move(context)), pinned_(std::move(pinned)) {}

  /// The event that comes when `buffer` is on the host; made by the first call.
  absl::StatusOr<Event*> makeArrival(uint32_t buffer);
  /// The same, which must have been made.
  Event* arrival(uint32_t buffer) const { return arrivals_.at(buffer).get(); }

  /// Page-locked host memory, until `unstage` or for good.
  absl::StatusOr<void*> stage(uint64_t bytes);
  /// Gives memory of `stage` back. False for any other.
  bool unstage(const void* memory);

  /// The value that another GPU fetches `buffer` by; null where there is none yet.
  DeviceValue* peerValue(uint32_t buffer) const;
  /// Makes it; returns the event that has to be set when the buffer at `address` is written.
  absl::StatusOr<Event*> makePeerValue(uint32_t buffer, CUdeviceptr address);

  /// Memory of the GPU for network adapters, as the table of buffers has it.
  absl::StatusOr<void*> allocateForNetwork(uint64_t bytes);
  /// Bytes of all such memory.
  uint64_t networkBytes() const { return networkBytes_; }

 private:
  struct PeerValue {
    std::unique_ptr<Event> made;
    DeviceValue value;
  };

  ContextPointer context_;
  std::shared_ptr<PinnedPool> pinned_;
  std::map<uint32_t, std::unique_ptr<Event>> arrivals_;  ///< by buffer
  std::vector<PinnedMemory> staging_;
  std::map<uint32_t, std::unique_ptr<PeerValue>> peerValues_;  ///< by buffer
  std::vector<std::unique_ptr<OwnMemory>> forNetwork_;
  uint64_t networkBytes_ = 0;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_SENT_VALUES_H_
