// Concatenation and split without copies: where the parts lie in the whole.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_CONCAT_PARTS_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_CONCAT_PARTS_H_

#include "devices/cpu/compiler/channel_blocks.h"

namespace graphrun::devices::cpu {

/// Offsets in bytes of the operands of a concatenation along `axis` in its result, all of them in
/// `layout`, when each is one piece of the result's memory at a multiple of kTensorAlignment; empty
/// otherwise. For a split, the other way round: its results are the operands, its operand the
/// result.
std::vector<uint64_t> concatParts(const std::vector<TensorDesc>& operands, const TensorDesc& result,
                                  KernelLayout layout, size_t axis);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_CONCAT_PARTS_H_
