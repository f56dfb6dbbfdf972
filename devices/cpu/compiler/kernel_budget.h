// The budget says how many kernels are generated for one partition.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_KERNEL_BUDGET_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_KERNEL_BUDGET_H_

#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices::cpu {

/// A KernelBudget decides which groups get a generated kernel. A kernel takes LLVM some 3 ms an
/// operation, which a network's few hundred are worth. A graph of tens of thousands of small
/// operations may have a group of another form each: of those the ones that spare the most memory
/// traffic get kernels, the others are run operation by operation, with kernels that many of them
/// share.
class KernelBudget {
 public:
  explicit KernelBudget(mlir::func::FuncOp partition);

  bool allows(mlir::Operation* group) const { return !refused_.contains(group); }

 private:
  /// Refuses those of `maps` that are not worth their kernels.
  void choose(llvm::ArrayRef<mlir::Operation*> maps);

  llvm::DenseSet<mlir::Operation*> refused_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_KERNEL_BUDGET_H_
