// Runs kernels' PTX on the CPU.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_INTERPRETED_KERNEL_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_INTERPRETED_KERNEL_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "devices/cuda/compiler/emit/kernel_launch.h"

namespace graphrun::devices::cuda {

using Bytes = absl::Span<uint8_t>;

/// What kernels read and write.
struct KernelMemory {
  std::vector<Bytes> operands, tables, results, scratch;
  Bytes errors;  // the error word
};

/// Requires that all threads of `launch`, whose kernel is in `ptx`, end well: what they read and
/// write is within `memory`.
void interpretKernel(const std::string& ptx, const KernelLaunch& launch,
                     const KernelMemory& memory);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_INTERPRETED_KERNEL_H_
