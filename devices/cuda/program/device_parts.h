// The parts of a GPU that programs on it share. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_DEVICE_PARTS_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_DEVICE_PARTS_H_

#include <memory>

#include "devices/cuda/cublaslt/product_library.h"
#include "devices/cuda/cudnn/cudnn_library.h"
#include "devices/cuda/driver/device_memory.h"
#include "devices/cuda/driver/pinned_pool.h"
#include "devices/cuda/program/shared_weights.h"

namespace graphrun::devices::cuda {

/// The parts of a device that its programs share.
struct DeviceParts {
  ContextPointer context;
  std::shared_ptr<const MemoryPool> memory;
  std::shared_ptr<PinnedPool> pinned;
  std::shared_ptr<SharedWeights> weights;
  std::shared_ptr<ProductLibrary> products;
  std::shared_ptr<CudnnLibrary> cudnn;
  Libraries* libraries = nullptr;  ///< outlive the device
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_DEVICE_PARTS_H_
