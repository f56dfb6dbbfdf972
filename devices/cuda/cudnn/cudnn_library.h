// cuDNN of one GPU. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_LIBRARY_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_LIBRARY_H_

#include <mutex>

#include "absl/status/statusor.h"
#include "devices/cuda/cudnn/cudnn_graph.h"
#include "devices/cuda/driver/context.h"

namespace graphrun::devices::cuda {

/// The library's handle, made when a program first has an instruction for it. Thread-safe.
class CudnnLibrary {
 public:
  CudnnLibrary(ContextPointer context, Libraries& libraries)
      : context_(std::move(context)), libraries_(libraries) {}
  ~CudnnLibrary();
  CudnnLibrary(const CudnnLibrary&) = delete;
  CudnnLibrary& operator=(const CudnnLibrary&) = delete;

  /// The handle and the GPU that plans are made for; valid as long as this. NotFound or
  /// FailedPrecondition without the library.
  absl::StatusOr<CudnnTarget> target();
  /// Puts the work of `plan` into `stream`. The handle takes one thread at a time: a lock, which is
  /// free but for the moment when two programs launch.
  absl::Status execute(const CudnnPlan& plan, CUstream stream);

 private:
  ContextPointer context_;
  Libraries& libraries_;
  std::mutex mutex_;
  CudnnPlanStore plans_;
  const CudnnApi* api_ = nullptr;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_LIBRARY_H_
