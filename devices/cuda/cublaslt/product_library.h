// cuBLASLt of one GPU. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUBLASLT_PRODUCT_LIBRARY_H_
#define GRAPHRUN_DEVICES_CUDA_CUBLASLT_PRODUCT_LIBRARY_H_

#include <mutex>

#include "absl/status/statusor.h"
#include "devices/cuda/driver/context.h"

namespace graphrun::devices::cuda {

/// The library's handle, made when a program first has a matrix product. Thread-safe.
class ProductLibrary {
 public:
  ProductLibrary(ContextPointer context, Libraries& libraries)
      : context_(std::move(context)), libraries_(libraries) {}
  ~ProductLibrary();
  ProductLibrary(const ProductLibrary&) = delete;
  ProductLibrary& operator=(const ProductLibrary&) = delete;

  struct Use {
    const CublasLtApi* api;
    cublasLtHandle_t handle;
  };
  /// Valid as long as this. NotFound or FailedPrecondition without the library.
  absl::StatusOr<Use> use();

 private:
  ContextPointer context_;
  Libraries& libraries_;
  std::mutex mutex_;
  const CublasLtApi* api_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUBLASLT_PRODUCT_LIBRARY_H_
