// Lowering of one partition: walks its operations and adds steps. Internal to the CPU compiler.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_LOWERING_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_LOWERING_H_

#include "absl/status/status.h"
#include "devices/cpu/compiler/code_module.h"
#include "devices/cpu/compiler/value_table.h"
#include "devices/cpu/executable.h"
#include "devices/cpu/kernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices::cpu {

/// One use, in order: lowers `partition` into `executable` (buffers have no offsets yet).
class Lowering {
 public:
  Lowering(Executable& executable, CodeModule& code, const WeightIndex& weightIndex)
      : executable_(executable), code_(code), values_(executable, weightIndex) {}

  absl::Status lower(mlir::func::FuncOp partition);

 private:
  absl::Status lowerOperation(mlir::Operation* op);
  absl::Status lowerGroup(ir::GroupOp group);
  /// By the best kernel of the kernel list. `postOps` are those of a group anchored at `op`, whose
  /// result is then `result`.
  absl::Status lowerLibrary(mlir::Operation* op, mlir::ValueRange operands, mlir::Value result,
                            llvm::ArrayRef<mlir::Operation*> epilogue);
  absl::Status lowerMap(mlir::Operation* op);
  absl::Status lowerSpatialMean(ir::ReduceOp op);
  absl::Status lowerView(mlir::Operation* op);
  absl::Status lowerSend(ir::SendOp op);
  absl::Status lowerReceive(ir::RecvOp op);
  absl::Status lowerReturn(mlir::func::ReturnOp op, mlir::func::FuncOp partition);
  absl::StatusOr<Argument> outputBuffer(mlir::Value value, uint32_t index);

  /// Post-ops for the operations behind an anchor. `sum` takes the operand in place.
  absl::Status addPostOps(Step& step, llvm::ArrayRef<mlir::Operation*> epilogue,
                          mlir::Value anchorResult, llvm::SmallVectorImpl<mlir::Value>& operands);
  absl::Status emitChosen(Step step, const Candidate& candidate, mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::Value> postOperands,
                          llvm::ArrayRef<mlir::Value> results);
  /// True when `user` is the last operation that reads `value` and its buffer may be overwritten.
  bool diesAt(mlir::Value value, mlir::Operation* user);

  Executable& executable_;
  CodeModule& code_;
  ValueTable values_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_LOWERING_H_
