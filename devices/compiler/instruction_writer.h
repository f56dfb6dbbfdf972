// Instructions that every device's executables have: inputs, states, edges, views, outputs.
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

  /// Adds an operation that computes nothing: a send, a receive, the return, a state, an update, or
  /// a view (reshape, squeeze, unsqueeze), which becomes no instruction. `operands`: what `op`
  /// reads, behind groups that were taken apart.
  absl::Status addPlain(mlir::Operation* op, llvm::ArrayRef<mlir::Value> operands);

  /// Gives `instruction` that much memory in the arena while it runs; none for 0.
  absl::Status addScratch(Instruction& instruction, uint64_t bytes);

 private:
  absl::Status addView(mlir::Operation* op, mlir::Value value);
  absl::Status addSend(ir::SendOp op, mlir::Value value);
  absl::Status addReceive(ir::RecvOp op);
  absl::Status addUpdate(llvm::ArrayRef<mlir::Value> operands);
  absl::Status addReturn(mlir::func::ReturnOp op, llvm::ArrayRef<mlir::Value> operands);
  absl::Status finishUpdates(const llvm::DenseSet<uint32_t>& wholes);
  /// The dense `value` in a buffer of that kind and index: the one it was written to, if that can
  /// become it, else a copy. `wholes`: buffers that have parts. `label` is the copy's.
  absl::StatusOr<Argument> ownBuffer(mlir::Value value, BufferKind kind, uint32_t index,
                                     const std::string& label,
                                     const llvm::DenseSet<uint32_t>& wholes);

  ValueTable& values_;
  Executable& executable_;
  const LayoutRules& layouts_;
  /// States (by their index) and their next values, which are given their buffers at the end.
  std::vector<std::pair<uint32_t, mlir::Value>> updates_;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_INSTRUCTION_WRITER_H_
