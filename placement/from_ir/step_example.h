// A step example is a collective's step as it will be on its device, before it is there.
#ifndef GRAPHRUN_PLACEMENT_FROM_IR_STEP_EXAMPLE_H_
#define GRAPHRUN_PLACEMENT_FROM_IR_STEP_EXAMPLE_H_

#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/collectives.h"

namespace graphrun::placement {

/// The operations of a step, in a module that nothing else uses: what it costs and which devices
/// can run it is theirs to say. Lives no longer than their context.
class StepExample {
 public:
  StepExample(mlir::Operation* collective, const passes::CollectiveStep& step);

  /// Without constants. None where there is nothing to do: a collective of one member.
  llvm::ArrayRef<mlir::Operation*> ops() const { return ops_; }

 private:
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<mlir::Operation*> ops_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FROM_IR_STEP_EXAMPLE_H_
