// The kernels of gr.recurrent's cells: what is done in a step, beside the products.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_RECURRENT_CELL_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_RECURRENT_CELL_H_

#include <string>

#include "devices/cuda/compiler/emit/operation_kernels.h"
#include "ir/dialect.h"

namespace graphrun::devices::cuda {

/// The tables of these kernels, which are no constants: what others computed in this step.
enum class CellTable : uint8_t {
  kInputs,     ///< T*B x G*H: the products of all inputs and the weights
  kGates,      ///< B x G*H: the product of the hidden values and the recurrent weights
  kReset,      ///< B x H, of resetCell: the hidden values that the gate r left
  kCandidate,  ///< B x G*H: the product of those and the recurrent weights
  kCount
};

/// The last parameter of each launch is the number of the step, which stands for 0 there.
///
/// True for a gru whose candidate needs a product of its own: r h instead of h. Its plan has two
/// launches, and the product is between them.
bool hasResetProduct(ir::RecurrentOp op);

/// Reason why no such kernel can be built; empty when one can.
std::string whyNotCell(ir::RecurrentOp op);

/// The kernels of a step, a thread for each hidden value. The last one reads the hidden values and
/// the state in results 1 and 2, replaces them, and writes the step's part of result 0. Requires an
/// empty whyNotCell.
OperationKernels buildCell(mlir::Operation* op);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_RECURRENT_CELL_H_
