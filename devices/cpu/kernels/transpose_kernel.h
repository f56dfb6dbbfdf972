// This kernel computes reorders and gr.transpose that move the dim whose elements follow each
// other. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_TRANSPOSE_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_TRANSPOSE_KERNEL_H_

#include <cstdint>

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// to[column][row] = from[row][column] for dense matrices of f32. One thread, with the machine's
/// widest vectors.
void transposeMatrix(const float* from, int64_t rows, int64_t columns, float* to);

/// In squares that stay in registers and lines of the cache. Layouts as
/// given, an open result is dense. Declines (Unimplemented) what only copies rows, and blocks that
/// are not full.
absl::StatusOr<LayoutChoice> chooseTranspose(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createTransposeTiles(const Instruction& instruction,
                                                             KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_TRANSPOSE_KERNEL_H_
