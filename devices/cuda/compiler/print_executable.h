// The pass --gr-cuda-print-executable of graphrun-opt.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_PRINT_EXECUTABLE_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_PRINT_EXECUTABLE_H_

namespace graphrun::devices::cuda {

/// Registers it: what each function becomes as a partition for a GPU, as text, or why it is
/// unsupported.
void registerPrintExecutable();

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_PRINT_EXECUTABLE_H_
