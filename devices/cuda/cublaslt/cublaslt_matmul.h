// Matrix products by cuBLASLt. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUBLASLT_CUBLASLT_MATMUL_H_
#define GRAPHRUN_DEVICES_CUDA_CUBLASLT_CUBLASLT_MATMUL_H_

#include "devices/cuda/kernels/kernel.h"

namespace graphrun::devices::cuda {

/// Accepts the products that matrixProductOf takes. The scratch memory is the library's workspace:
/// with less of it there are fewer algorithms to choose from.
absl::StatusOr<KernelChoice> chooseProduct(const Instruction& instruction);
/// The algorithm is the first that the library's heuristic names for the shapes, the addresses'
/// alignment and the workspace.
absl::StatusOr<std::unique_ptr<Kernel>> createProduct(const Instruction& instruction,
                                                      const KernelContext& context);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUBLASLT_CUBLASLT_MATMUL_H_
