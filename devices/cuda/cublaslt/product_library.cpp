#include "devices/cuda/cublaslt/product_library.h"

#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

ProductLibrary::~ProductLibrary() {
  if (handle_ != nullptr) {
    ScopedContext scope(*context_);
    api_->cublasLtDestroy(handle_);
  }
}

absl::StatusOr<ProductLibrary::Use> ProductLibrary::use() {
  std::lock_guard lock(mutex_);
  if (handle_ == nullptr) {
    GR_ASSIGN_OR_RETURN(api_, libraries_.cublasLt());
    ScopedContext scope(*context_);
    GR_RETURN_IF_ERROR(cublasLtStatus(*api_, api_->cublasLtCreate(&handle_), "cublasLtCreate"));
  }
  return Use{api_, handle_};
}

}  // namespace graphrun::devices::cuda
