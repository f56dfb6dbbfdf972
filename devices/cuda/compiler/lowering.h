// Lowering of one partition: walks its operations and adds steps. Internal to the GPU's compiler.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_LOWERING_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_LOWERING_H_

#include "devices/compiler/group_values.h"
#include "devices/compiler/step_writer.h"
#include "devices/cuda/compiler/kernel_code.h"
#include "devices/cuda/compiler/library_choice.h"

namespace graphrun::devices::cuda {

/// One use: writes the steps of a partition into `executable` (buffers have no offsets yet). An
/// operation is a library's step where one takes it, else a generated kernel, else it is expanded.
/// Behind a convolution or a product the library's kernel takes as much of the group's epilogue as
/// it can, and one generated kernel the rest.
class Lowering {
 public:
  /// All that is given outlives this.
  Lowering(Executable& executable, KernelCode& code, const WeightIndex& weightIndex);

  /// Changes `partition` where operations are expanded. Unimplemented for what whyUnsupported
  /// (support.h) declines.
  absl::Status lower(mlir::func::FuncOp partition);

 private:
  absl::Status addOperation(mlir::Operation* op);
  absl::Status addGroup(ir::GroupOp group);
  /// `anchor` and what follows it in its group.
  absl::Status addAnchor(mlir::Operation* anchor, llvm::ArrayRef<mlir::Operation*> epilogue);
  /// What is left of an epilogue: one kernel.
  absl::Status addRest(llvm::ArrayRef<mlir::Operation*> ops);
  absl::Status addEach(llvm::ArrayRef<mlir::Operation*> ops);
  absl::Status addGenerated(mlir::Operation* op);
  absl::Status addLibrary(const LibraryChoice& choice);
  absl::StatusOr<Argument> read(mlir::Value value, const TensorDesc& desc);

  Executable& executable_;
  KernelCode& code_;
  ValueTable values_;
  StepWriter writer_;
  GroupValues groups_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_LOWERING_H_
