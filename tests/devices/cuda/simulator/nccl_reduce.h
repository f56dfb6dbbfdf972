// What a collective of NCCL makes of elements.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_NCCL_REDUCE_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_NCCL_REDUCE_H_

#include <nccl.h>

#include <string>
#include <vector>

namespace graphrun::testing {

/// Of an ncclDataType_t in bytes.
size_t elementBytes(int type);

/// Operands of equal size combined element by element in their order by an ncclRedOp_t, rounded to
/// the type each time.
std::string reduced(const std::vector<std::string>& operands, int type, int operation);

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_NCCL_REDUCE_H_
