// Shows the kernels of a graph's operations as text: graphrun-opt's way to them, for tests.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_PRINT_KERNELS_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_PRINT_KERNELS_H_

namespace graphrun::devices::cuda {

/// Registers the pass `gr-cuda-print-kernels`: for each operation of a function that is no
/// constant, it prints to stdout how its kernel is launched and its code, or why there is none.
/// Option `sm`: the compute capability (80, 90, 100) that the code is shown for, as PTX; without it
/// the code is shown as MLIR.
void registerPrintKernels();

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_PRINT_KERNELS_H_
