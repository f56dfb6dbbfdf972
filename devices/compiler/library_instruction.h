// Operations become instructions of the kernel list here.
#ifndef GRAPHRUN_DEVICES_COMPILER_LIBRARY_INSTRUCTION_H_
#define GRAPHRUN_DEVICES_COMPILER_LIBRARY_INSTRUCTION_H_

#include "absl/status/statusor.h"
#include "devices/executable/executable.h"
#include "ir/dialect.h"

namespace graphrun::devices {

/// An instruction before a kernel, layouts and buffers are chosen: all operands and results are
/// dense.
struct LibraryInstruction {
  Instruction instruction;
  llvm::SmallVector<mlir::Value> operands;      ///< of instruction.inputs
  llvm::SmallVector<mlir::Value> postOperands;  ///< one a post-op; null where it has none
  llvm::SmallVector<mlir::Value> results;       ///< of instruction.outputs
  bool isInPlace = false;                       ///< the result lies where the first operand does
};

/// The instruction that computes `op` and then, as post-ops, `epilogue`, whose last result is
/// `result`. Unimplemented when an operation of the epilogue is no post-op.
absl::StatusOr<LibraryInstruction> libraryInstruction(mlir::Operation* op,
                                                      llvm::ArrayRef<mlir::Operation*> epilogue,
                                                      mlir::Value result);

/// A group of an attention and what its operands and result are seen through, as views of dense
/// tensors: the attributes "sizes" and "views" that devices/executable/attention_instruction.h
/// tells of. Unimplemented where one of them needs a copy.
absl::StatusOr<LibraryInstruction> attentionInstruction(ir::GroupOp group);

/// `library` with its first addition of a tensor that nothing reads afterwards made in place: the
/// result then lies where that operand was. Nothing when it has none.
std::optional<LibraryInstruction> summedInPlace(const LibraryInstruction& library,
                                                mlir::Operation* op);

/// True when `user` is the last operation that reads `value` and its buffer may be overwritten.
bool diesAt(mlir::Value value, mlir::Operation* user);

/// True for what is laid out at load (see passes::weightOf).
bool isConstant(mlir::Value value);

/// Threads that the operation, or the group that it is in, is to run on; 0: all of the device's.
uint32_t threadsOf(mlir::Operation* op);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_LIBRARY_INSTRUCTION_H_
