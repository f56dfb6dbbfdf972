// Instructions that every device's executables have: inputs, edges, views, outputs.
#ifndef GRAPHRUN_DEVICES_COMPILER_INSTRUCTION_WRITER_H_
#define GRAPHRUN_DEVICES_COMPILER_INSTRUCTION_WRITER_H_

#include "devices/compiler/value_table.h"
#include "ir/dialect.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices {

/// Writes them into the executable of a table of values, which outlives it.
class InstructionWriter {
 public:
  explicit InstructionWriter(ValueTable& values)
      : values_(values), executable_(values.executable()), layouts_(values.layouts()) {}

  /// The inputs of `partition`, under their names.
  absl::Status addInputs(mlir::func::FuncOp partition);

  /// Adds an operation that computes nothing: a send, a receive, the return, or a view (reshape,
  /// squeeze, unsqueeze), which becomes no instruction. `operands`: what `op` reads, behind groups
  /// that were taken apart.
  absl::Status addPlain(mlir::Operation* op, llvm::ArrayRef<mlir::Value> operands);

  /// Gives `instruction` that much memory in the arena while it runs; none for 0.
  absl::Status addScratch(Instruction& instruction, uint64_t bytes);

 private:
  absl::Status addView(mlir::Operation* op, mlir::Value value);
  absl::Status addSend(ir::SendOp op, mlir::Value value);
  absl::Status addReceive(ir::RecvOp op);
  absl::Status addReturn(mlir::func::ReturnOp op, llvm::ArrayRef<mlir::Value> operands);
  /// `wholes`: buffers that have parts.
  absl::StatusOr<Argument> outputBuffer(mlir::Value value, uint32_t index,
                                        const llvm::DenseSet<uint32_t>& wholes);

  ValueTable& values_;
  Executable& executable_;
  const LayoutRules& layouts_;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_INSTRUCTION_WRITER_H_
