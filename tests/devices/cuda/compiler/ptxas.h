// NVIDIA's assembler, which needs no GPU: what it takes, the driver takes.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_PTXAS_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_PTXAS_H_

#include <string>

namespace graphrun::devices::cuda {

/// Whether there is one; says that tests were skipped where there is none.
bool hasPtxas();

/// Assembles `ptx` for a compute capability (80, 90, 100); requires that ptxas takes it and spills
/// no registers.
void requireAssembles(const std::string& ptx, int computeCapability);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_PTXAS_H_
