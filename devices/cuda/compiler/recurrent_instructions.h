// gr.recurrent as instructions: products through the library, and generated cells.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_RECURRENT_INSTRUCTIONS_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_RECURRENT_INSTRUCTIONS_H_

#include "devices/compiler/instruction_writer.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/compiler/library_choice.h"

namespace graphrun::devices::cuda {

/// Reason why `op` cannot be lowered so; empty when it can. It stands alone in a function (or in
/// one that nobody else reads meanwhile): the product of a step is made beside it, and removed.
std::string whyNotRecurrent(ir::RecurrentOp op);

/// The library's kernel for the product of a step: hidden values and recurrent weights.
absl::StatusOr<LibraryChoice> chooseStepProduct(ir::RecurrentOp op, const LibraryOptions& options);

/// Writes the instructions of one gr.recurrent: the product of the hidden values and the recurrent
/// weights, then the cell, for each step of the sequence, all in place. The product of all inputs
/// and the weights is an operation of its own, made before.
class RecurrentInstructions {
 public:
  /// How the operation's operands are read, as ValueTable::read.
  using Read = llvm::function_ref<absl::StatusOr<Argument>(mlir::Value, const TensorDesc&)>;

  /// All that is given outlives this.
  RecurrentInstructions(ValueTable& values, InstructionWriter& writer, KernelCode& code, Read read)
      : values_(values), writer_(writer), code_(code), read_(read) {}

  /// `inputs`: that product, T*B x G*H; `product`: of a step. Requires an empty
  /// whyNotRecurrent(op).
  absl::Status add(ir::RecurrentOp op, mlir::Value inputs, const LibraryChoice& product);

 private:
  absl::StatusOr<Argument> copied(mlir::Value from, const Argument& to);
  absl::StatusOr<Argument> newTable(const TensorDesc& desc);
  absl::Status addProduct(const Argument& hidden, const Argument& result);
  absl::Status addCell(ir::RecurrentOp op, const KernelLaunch& launch, int64_t step);

  ValueTable& values_;
  InstructionWriter& writer_;
  KernelCode& code_;
  Read read_;
  Instruction product_;  // of hidden values, which are its first input, and the recurrent weights
  llvm::SmallVector<Argument> tables_, results_;
};

/// The product of all inputs and the weights of `op`, made before it: operations in order, the last
/// one gives T*B x G*H.
llvm::SmallVector<mlir::Operation*> makeInputProduct(ir::RecurrentOp op);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_RECURRENT_INSTRUCTIONS_H_
