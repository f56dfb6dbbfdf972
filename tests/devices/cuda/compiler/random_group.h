// Groups of element-wise and movement operations, made up.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_RANDOM_GROUP_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_RANDOM_GROUP_H_

#include <string>

namespace graphrun::devices::cuda {

/// The text of a function of one gr.group: operands of `element` that are whole, broadcast,
/// transposed, sliced or reshaped, and some operations on them. Where `exact`, all of them give
/// whole numbers for operands that are small whole numbers, and so the same in all types.
std::string randomGroup(unsigned seed, const std::string& element, bool exact);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_RANDOM_GROUP_H_
