// The streams of a program on a GPU, and the copies that go through them. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_PROGRAM_STREAMS_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_PROGRAM_STREAMS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "devices/cuda/driver/context.h"

namespace graphrun::devices::cuda {

/// The kind of memory that a bound entry of the table of buffers points to.
enum class BoundMemory : uint8_t {
  kHost,   ///< host memory
  kOther,  ///< a DeviceValue, of another GPU
  kOwn     ///< memory of this GPU beside the program's
};

/// A copy of a buffer to the GPU, or from it.
struct Copy {
  uint32_t buffer;  ///< of the executable
  CUdeviceptr address;
  uint64_t bytes;
  Event* arrived;      ///< null for what is copied in
  uint32_t bound = 0;  ///< entry of the table: the other end
  BoundMemory memory = BoundMemory::kHost;
};

/// One stream for kernels, and one for copies in each direction: each waits for the others only
/// where it is told to. The context must be the thread's in all calls, and when it goes.
class ProgramStreams {
 public:
  static absl::StatusOr<std::unique_ptr<ProgramStreams>> create(const ContextPointer& context);

  const Stream& compute() const { return *compute_; }
  const Stream& in() const { return *in_; }
  const Stream& out() const { return *out_; }

  /// Puts a copy to the GPU, or from it, into its stream; `buffers`: the table.
  absl::Status copyIn(const Copy& copy, void* const* buffers);
  absl::Status copyOut(const Copy& copy, void* const* buffers);
  /// Kernels from now on come after the copies to the GPU so far.
  absl::Status computeAfterCopies();
  /// Copies from the GPU from now on come after the kernels so far.
  absl::Status copyAfterCompute();
  /// The event that comes when all that was put into the streams so far is done.
  absl::StatusOr<const Event*> end();
  /// Waits for all three. Failures were told before.
  void synchronize() const;

 private:
  ProgramStreams() = default;

  std::unique_ptr<Stream> compute_;
  std::unique_ptr<Stream> in_;
  std::unique_ptr<Stream> out_;
  std::unique_ptr<Event> given_;     ///< the operands of a launch are on the GPU
  std::unique_ptr<Event> computed_;  ///< the results of a launch are ready
  std::unique_ptr<Event> finished_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_PROGRAM_STREAMS_H_
