// Kernels of operations that reduce rows: reductions, softmax, layer normalisation.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_ROW_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_ROW_KERNEL_H_

#include <string>

#include "devices/cuda/compiler/emit/operation_kernels.h"

namespace graphrun::devices::cuda {

/// True for such an operation, and for a group of the kind `row`, which has one and the casts
/// before and behind it: the kernel reads and writes the types beyond the casts, and computes in
/// between in f32.
bool isRowOperation(mlir::Operation* op);

/// Reason why no kernel can be generated for an operation of rows; empty when one can.
std::string whyNotRowKernel(mlir::Operation* op);

/// Adds the kernels for `op`, on dense tensors: one, or two where rows are few and long, the second
/// of which reduces what parts of rows gave. Sums are of f32, or f64 for f64: each thread's, then
/// pairwise, always in the same order. Requires an empty whyNotRowKernel(op).
void buildRowKernels(OperationKernels& kernels);

/// Tells how one thread reads in a reduction (gr.reduce), which its time depends on. `elements`:
/// how many elements of a row, or of its part, a thread that has it alone reads one after the
/// other, else 0. `hasParts`: a second kernel reduces parts.
struct RowWalk {
  int64_t elements = 0;
  bool hasParts = false;
};
RowWalk walkOfThread(mlir::Operation* op);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_ROW_KERNEL_H_
