// Attention without a matrix of scores in memory: blocks of query rows, whose scores stay in the
// cache. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ATTENTION_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_ATTENTION_KERNEL_H_

#include "devices/cpu/kernels.h"

namespace graphrun::devices::cpu {

/// gr.attention of f32 or bf16 on dense tensors, computed in f32; a mask is of f32. Two attributes
/// let it read and write views of them, so that heads need no transposition and packed projections
/// no copies: "sizes" holds N, H, G, S, T, D and V; "views" holds for query, key, value and result
/// the first element and the strides of N, heads, rows and columns. Columns must be neighbours;
/// those of the key may be rows instead.
absl::StatusOr<LayoutChoice> chooseAttention(const Step& step);
absl::StatusOr<std::unique_ptr<Kernel>> createAttention(const Step& step, KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ATTENTION_KERNEL_H_
