// Lowering of one partition: walks its operations and adds instructions. Internal to the CPU
// compiler.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_LOWERING_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_LOWERING_H_

#include "absl/status/status.h"
#include "devices/compiler/instruction_writer.h"
#include "devices/compiler/value_table.h"
#include "devices/cpu/compiler/code_module.h"
#include "devices/cpu/compiler/kernel_selection.h"
#include "devices/executable/executable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices::cpu {

/// One use: writes the instructions of a partition into `executable` (buffers have no offsets yet).
class Lowering {
 public:
  Lowering(Executable& executable, CodeModule& code, const WeightIndex& weightIndex);

  /// `items` of `partition` (collectWorkItems), each by the candidate that was chosen.
  absl::Status lower(mlir::func::FuncOp partition, llvm::ArrayRef<WorkItem> items,
                     llvm::ArrayRef<uint32_t> chosen);

 private:
  /// Gives the operands of a concatenation in place their parts of its result.
  absl::Status reserveParts(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerItem(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerLibrary(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerConcat(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerSplit(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerMap(const WorkItem& item, const WorkCandidate& candidate);

  Executable& executable_;
  CodeModule& code_;
  ValueTable values_;
  InstructionWriter writer_;
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<Argument>> parts_;  // of concatenations
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_LOWERING_H_
