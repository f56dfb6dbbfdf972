// The compiler of GPUs: a partition becomes generated kernels and instructions of the vendor's
// libraries.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_CUDA_COMPILER_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_CUDA_COMPILER_H_

#include <memory>

#include "devices/device_compiler.h"

namespace graphrun::devices::cuda {

/// See devices/device_compiler.h. `code`: texts of generated kernels; may be
/// null, and must outlive the compiler. NotFound in a build without CUDA.
absl::StatusOr<std::unique_ptr<DeviceCompiler>> createCudaCompiler(
    runtime::CodeStore* code = nullptr);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_CUDA_COMPILER_H_
