#include "devices/compiler/group_values.h"

#include "passes/weights.h"

namespace graphrun::devices {

llvm::SmallVector<mlir::Operation*> operationsOf(ir::GroupOp group) {
  auto body =
      llvm::to_vector(llvm::make_pointer_range(group.getBody().front().without_terminator()));
  llvm::erase_if(body, [](mlir::Operation* op) { return llvm::isa<ir::ConstantOp>(op); });
  return body;
}

void GroupValues::takeApart(ir::GroupOp group) {
  for (auto [result, inner] :
       llvm::zip(group.getResults(), group.getBody().front().getTerminator()->getOperands())) {
    standsFor_[result] = resolved(inner);
  }
}

mlir::Value GroupValues::resolved(mlir::Value value) const {
  while (true) {  // groups that compilers make lie in others
    mlir::Value outer = passes::outsideGroup(value);
    auto found = standsFor_.find(outer);
    if (found == standsFor_.end() && outer == value) {
      return value;
    }
    value = found == standsFor_.end() ? outer : found->second;
  }
}

}  // namespace graphrun::devices
