#include "devices/cuda/cudnn/cudnn_library.h"

#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

CudnnLibrary::~CudnnLibrary() {
  if (handle_ != nullptr) {
    ScopedContext scope(*context_);
    api_->cudnnDestroy(handle_);
  }
}

absl::StatusOr<CudnnTarget> CudnnLibrary::target() {
  std::lock_guard lock(mutex_);
  if (handle_ == nullptr) {
    GR_ASSIGN_OR_RETURN(api_, libraries_.cudnn());
    ScopedContext scope(*context_);
    GR_RETURN_IF_ERROR(cudnnStatus(*api_, api_->cudnnCreate(&handle_), "cudnnCreate"));
  }
  return CudnnTarget{api_, handle_, nullptr, &plans_};
}

absl::Status CudnnLibrary::execute(const CudnnPlan& plan, CUstream stream) {
  std::lock_guard lock(mutex_);
  GR_RETURN_IF_ERROR(
      cudnnStatus(*api_, api_->cudnnSetStream(handle_, reinterpret_cast<cudaStream_t>(stream)),
                  "cudnnSetStream"));
  return plan.execute(handle_);
}

}  // namespace graphrun::devices::cuda
