// Operations on tensors with the channels last: the same memory, seen as N x spatial dims x C.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_CHANNELS_LAST_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_CHANNELS_LAST_H_

#include <memory>

#include "devices/executable/executable.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::devices::cuda {

/// An operation in a module of its own: the last one of its function, whose arguments it reads.
struct AloneOperation {
  std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> module;
  mlir::Operation* op = nullptr;

  explicit operator bool() const { return op != nullptr; }
};

/// `op` (gr.concat, gr.split, gr.reduce, gr.softmax) on tensors with the channels last, as one on
/// dense tensors N x spatial dims x C; nothing where the result would lie in neither way.
AloneOperation seenChannelsLast(mlir::Operation* op);

/// The gr.transpose that copies a tensor from one of the two layouts to the other.
AloneOperation copyOperation(const TensorDesc& from, const TensorDesc& to,
                             mlir::MLIRContext& context);

/// True if `op`, a map, has an operand and results with as many channels, and moves elements within
/// the channels of their positions. Reshapes of channels into groups with a transposition between
/// do that. With the channels last they are one kernel that reads and writes whole lines. Requires
/// an empty codegen::whyNotMap(op).
bool shufflesChannels(mlir::Operation* op);

/// True if a gr.transpose puts the channels last, or brings them back from there: with the operand,
/// or the result, in that layout it moves nothing.
bool putsChannelsLast(mlir::Operation* op);
bool bringsChannelsBack(mlir::Operation* op);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_CHANNELS_LAST_H_
