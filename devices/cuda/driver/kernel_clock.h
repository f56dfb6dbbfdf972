// How long the kernels of a segment take, by the GPU's clock. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_KERNEL_CLOCK_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_KERNEL_CLOCK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/cuda/driver/context.h"

namespace graphrun::devices::cuda {

/// Events before, between and behind the kernels of a graph, which sets them at each launch: in a
/// graph kernels follow each other as they do without them, where launches one by one would be
/// timed with the gaps between. The context must be the thread's in all calls.
class KernelClock {
 public:
  static absl::StatusOr<std::unique_ptr<KernelClock>> create(const ContextPointer& context,
                                                             size_t kernels);

  /// Before each kernel and after the last, while the graph is recorded or, if there is none, in
  /// each launch.
  absl::Status mark(CUstream stream, size_t kernel, bool inGraph);
  /// After each launch, when its work is done.
  absl::Status read();
  size_t runs() const { return runs_; }
  /// The median over the runs so far, at least one, of each kernel's time, ns.
  std::vector<uint64_t> medians() const;

 private:
  std::vector<std::unique_ptr<Event>> marks_;
  std::vector<std::vector<uint64_t>> times_;  ///< [kernel][run], ns
  size_t runs_ = 0;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_KERNEL_CLOCK_H_
