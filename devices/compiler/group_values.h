// Values of groups whose operations are compiled one by one.
#ifndef GRAPHRUN_DEVICES_COMPILER_GROUP_VALUES_H_
#define GRAPHRUN_DEVICES_COMPILER_GROUP_VALUES_H_

#include "ir/dialect.h"
#include "llvm/ADT/DenseMap.h"

namespace graphrun::devices {

/// The operations of a group in order, without its constants and its yield.
llvm::SmallVector<mlir::Operation*> operationsOf(ir::GroupOp group);

/// GroupValues know which values stand for the results and the arguments of groups.
class GroupValues {
 public:
  /// From now on the results of `group` are what is computed inside.
  void takeApart(ir::GroupOp group);

  /// The value that an operation, or a group that is one instruction, gives as `value`: behind
  /// arguments of groups and results of those that were taken apart.
  mlir::Value resolved(mlir::Value value) const;

 private:
  llvm::DenseMap<mlir::Value, mlir::Value> standsFor_;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_GROUP_VALUES_H_
