// A signature identifies an operation whatever its name and device: it is the key of the
// operation's measured time.
#ifndef GRAPHRUN_PLACEMENT_FROM_IR_OP_SIGNATURE_H_
#define GRAPHRUN_PLACEMENT_FROM_IR_OP_SIGNATURE_H_

#include <cstdint>

#include "mlir/IR/Operation.h"
#include "placement/cluster/roofline.h"

namespace graphrun::placement {

/// Equal for operations that do the same work: kind, attributes, types of operands and results,
/// which operands are constants, the elements of small integer constants (axes, starts …), and for
/// an operation with regions all that is in them. Device, rank and location do not count. Never 0.
/// The same in every process and for every run.
uint64_t opSignature(mlir::Operation* op);

/// Equal for operations whose times can be compared: kind and element type. A group with a
/// convolution or matrix product is of that one's family; of others their kind counts. Convolutions
/// are told apart by their filters (1x1, 3x3, others, depthwise, in groups), matrix products by
/// whether they multiply by a constant. Never 0.
uint64_t opFamily(mlir::Operation* op);

/// Returns the class that tells what its time is like where nothing is measured.
OpClass classOf(mlir::Operation* op);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FROM_IR_OP_SIGNATURE_H_
