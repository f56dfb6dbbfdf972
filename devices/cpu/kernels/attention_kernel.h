// This kernel computes attention without a matrix of scores in memory: it takes blocks of query
// rows, whose scores stay in the cache. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_ATTENTION_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_ATTENTION_KERNEL_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// gr.attention of f32 or bf16 on dense tensors or views of them (see
/// devices/executable/attention_instruction.h), computed in f32; a mask is of f32. Columns must be
/// neighbours; those of the key may be rows instead.
absl::StatusOr<LayoutChoice> chooseAttention(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createAttention(const Instruction& instruction,
                                                        KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_ATTENTION_KERNEL_H_
