#include "passes/pipelines.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/passes.h"

namespace graphrun::passes {

void buildSimplifyPipeline(mlir::OpPassManager& manager) {
  mlir::OpPassManager& functions = manager.nest<mlir::func::FuncOp>();
  // Types first: folders and patterns need them. What they leave makes more types known.
  functions.addPass(createInferShapes());
  functions.addPass(createSimplifyGraph());
  functions.addPass(mlir::createCSEPass());
  functions.addPass(createRecogniseForms());
  functions.addPass(createFoldNormalization());
  functions.addPass(createInferShapes());
  functions.addPass(createSimplifyGraph());
  functions.addPass(mlir::createCSEPass());
}

void buildGroupPipeline(mlir::OpPassManager& manager, const GroupOptions& options) {
  buildSimplifyPipeline(manager);
  manager.addNestedPass<mlir::func::FuncOp>(createLowerQuantized({options.bytes}));
  if (options.precision == runtime::Precision::kBF16) {
    // Behind what recognises forms, which it would hide; before groups, which end where types
    // change.
    manager.addNestedPass<mlir::func::FuncOp>(createLowerPrecision());
  }
  if (options.fusion) {
    manager.addNestedPass<mlir::func::FuncOp>(createFormGroups());
  }
}

mlir::LogicalResult simplify(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  buildSimplifyPipeline(manager);
  return manager.run(module);
}

mlir::LogicalResult simplifyAndGroup(mlir::ModuleOp module, const GroupOptions& options) {
  mlir::PassManager manager(module.getContext());
  buildGroupPipeline(manager, options);
  return manager.run(module);
}

void registerPipelines() {
  mlir::PassPipelineRegistration<>("gr-simplify", "All device-independent simplifications",
                                   buildSimplifyPipeline);
}

}  // namespace graphrun::passes
