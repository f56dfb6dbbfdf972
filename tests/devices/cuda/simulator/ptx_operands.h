// Operands of PTX statements.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_OPERANDS_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_OPERANDS_H_

#include <vector>

#include "tests/devices/cuda/simulator/ptx_names.h"
#include "tests/devices/cuda/simulator/ptx_reader.h"

namespace graphrun::testing::ptx {

/// %r1, -3, 0f3F800000, [%rd1+16], {%f1, %f2}, %r1|%p1 or a name. Registers that are named for the
/// first time are appended to `registers`.
absl::StatusOr<Operand> readOperand(TokenReader& in, Names& names, std::vector<Type>& registers);

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_OPERANDS_H_
