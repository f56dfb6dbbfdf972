// The group builder moves a set of operations into a gr.group.
#ifndef GRAPHRUN_PASSES_GROUP_BUILDER_H_
#define GRAPHRUN_PASSES_GROUP_BUILDER_H_

#include "ir/dialect.h"

namespace graphrun::passes {

/// Operations of one block that are to become one kernel, in program order. All results of all but
/// the last are used by members only; the last one, `root`, has one result.
struct GroupPlan {
  ir::GroupKind kind;
  llvm::SmallVector<mlir::Operation*> members;

  mlir::Operation* root() const { return members.back(); }
};

/// Replaces the members by a gr.group where the root is. Operands become its inputs, in order of
/// first use; constants that are one value, and short integer ones (shapes, axes), move inside.
ir::GroupOp buildGroup(const GroupPlan& plan);

/// True when constant operand `operand` of a member is cloned into the group.
bool movesInside(mlir::OpOperand& operand);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_GROUP_BUILDER_H_
