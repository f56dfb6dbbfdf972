// The instructions between two edges, as one piece of work for the GPU. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_SEGMENT_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_SEGMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/driver/kernel_clock.h"
#include "devices/cuda/kernels/kernel.h"
#include "runtime/base/trace.h"

namespace graphrun::devices::cuda {

/// Kernels in order. The first launch puts each into the stream, for libraries load and settle
/// things then; the second records them as a CUDA graph with a clock, which times them for some
/// launches; then they are recorded again without, and from then on a launch is that graph's. The
/// context must be the thread's in all calls. What is not recorded is put into the stream kernel by
/// kernel always, some times with a clock.
class Segment {
 public:
  explicit Segment(ContextPointer context, bool isRecorded = true)
      : context_(std::move(context)), isRecorded_(isRecorded) {}
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  void add(std::unique_ptr<Kernel> kernel, std::string label);
  /// "conv1", or "conv1 … relu7 (12 instructions)".
  std::string label() const;
  /// Errors begin with the label of the instruction that could not be launched. What goes wrong on
  /// the GPU is noticed when somebody waits.
  absl::Status launch(const Stream& stream);
  /// After a launch, when its work is done: reads the clock. True when no more runs are timed.
  absl::StatusOr<bool> readClock();
  /// Appends what each kernel takes, once that is known.
  void addTimes(std::vector<runtime::KernelTime>& times) const;

 private:
  absl::Status enqueue(CUstream stream);
  absl::Status record(CUstream stream);
  void dropGraph();

  ContextPointer context_;
  bool isRecorded_;  ///< while nothing in it refuses to be recorded
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::string> labels_;
  bool warm_ = false;  ///< launched once
  CUgraphExec graph_ = nullptr;
  std::unique_ptr<KernelClock> clock_;  ///< that graph_ sets
  std::vector<uint64_t> nanos_;         ///< by kernel, as soon as they are known
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_SEGMENT_H_
