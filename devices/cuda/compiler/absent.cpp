// The compiler of a build without CUDA: there is none, as the libraries' kernels cannot be asked.
#include "devices/cuda/compiler/cuda_compiler.h"

namespace graphrun::devices::cuda {

absl::StatusOr<std::unique_ptr<DeviceCompiler>> createCudaCompiler(runtime::CodeStore*) {
  return absl::NotFoundError(
      "this build has no CUDA: install CUDA 13, cuDNN 9 and NCCL with their headers, then "
      "configure and build again, or remove the device from cluster.yaml");
}

}  // namespace graphrun::devices::cuda
