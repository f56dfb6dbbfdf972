// Runs a library's instruction by each of the plans that the library has for it, to see which is
// fastest.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_ALGORITHM_TRIALS_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_ALGORITHM_TRIALS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/cuda/cublaslt/product_library.h"
#include "devices/cuda/cudnn/cudnn_library.h"
#include "devices/cuda/driver/device_memory.h"
#include "devices/cuda/kernels/kernel.h"

namespace graphrun::devices::cuda {

/// The time that an instruction takes by a plan (see algorithmOf).
struct PlanTime {
  size_t plan;
  uint64_t nanos;
};

/// On memory and a stream of its own, beside the programs of the GPU. One thread.
class AlgorithmTrials {
 public:
  /// On GPU `index` of those that the driver offers. `libraries` outlives this.
  static absl::StatusOr<std::unique_ptr<AlgorithmTrials>> create(uint32_t index,
                                                                 Libraries& libraries);
  ~AlgorithmTrials();
  AlgorithmTrials(const AlgorithmTrials&) = delete;
  AlgorithmTrials& operator=(const AlgorithmTrials&) = delete;

  /// The times of `instruction` by the plans that will do, in the library's order, at most
  /// kMostTried: medians of some runs by the GPU's clock. At least one; fails as making or running
  /// one fails.
  absl::StatusOr<std::vector<PlanTime>> run(const Instruction& instruction);
  static constexpr size_t kMostTried = 8;

 private:
  AlgorithmTrials() = default;
  absl::StatusOr<uint64_t> timeOf(std::unique_ptr<Kernel> kernel);

  ContextPointer context_;
  std::shared_ptr<const MemoryPool> memory_;
  std::unique_ptr<ProductLibrary> products_;
  std::unique_ptr<CudnnLibrary> cudnn_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_ALGORITHM_TRIALS_H_
