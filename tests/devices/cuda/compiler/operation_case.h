// One operation in a function, as a kernel for GPUs against the reference kernel.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_OPERATION_CASE_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_OPERATION_CASE_H_

#include <string>
#include <vector>

#include "tests/devices/cuda/compiler/kernel_case.h"

namespace graphrun::devices::cuda {

/// `op` with its attributes, on operands and with results of these types. Operands called %c… are
/// constants that `constants` defines, the others arguments.
std::string function(const std::string& op, const std::vector<std::string>& operands,
                     const std::vector<std::string>& types, const std::vector<std::string>& results,
                     const std::string& constants = "");

/// A constant of `count` i64 called `name`.
std::string ints(const std::string& name, const std::string& values, size_t count);

/// Requires that the function's operation gives what the reference kernel does, within `tolerance`
/// (see cpu::distance), of random operands (`whole`: whole numbers of [-3, 3]) or the given ones;
/// and that ptxas takes its kernels, where there is one.
void check(const std::string& text, double tolerance = 0, bool whole = false,
           cpu::Tensors operands = {});

/// What the kernels of the function's operation find wrong with these operands.
KernelError complaintOf(const std::string& text, cpu::Tensors operands);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_OPERATION_CASE_H_
