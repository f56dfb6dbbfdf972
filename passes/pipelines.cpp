#include "passes/pipelines.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/expand_gradients.h"
#include "passes/passes.h"
#include "passes/states.h"

namespace graphrun::passes {

void buildSimplifyPipeline(mlir::OpPassManager& manager, Twins twins) {
  mlir::OpPassManager& functions = manager.nest<mlir::func::FuncOp>();
  auto addCse = [&] {
    if (twins == Twins::kMerged) {
      functions.addPass(mlir::createCSEPass());
    }
  };
  // Types first: folders and patterns need them. What they leave makes more types known.
  functions.addPass(createInferShapes());
  functions.addPass(createSimplifyGraph());
  addCse();
  functions.addPass(createRaiseOps());
  functions.addPass(createFoldNormalization());
  functions.addPass(createInferShapes());
  functions.addPass(createSimplifyGraph());
  addCse();
}

void buildGroupPipeline(mlir::OpPassManager& manager, const GroupOptions& options) {
  buildSimplifyPipeline(manager, Twins::kMerged);
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

namespace {

/// Verifies once, when all passes have run: behind each of them it takes as long as a pass.
/// graphrun-opt, which tests them one by one, does that.
mlir::LogicalResult runVerifiedOnce(mlir::PassManager& manager, mlir::ModuleOp module) {
  manager.enableVerifier(false);
  return mlir::failed(manager.run(module)) ? mlir::failure() : mlir::verify(module);
}

}  // namespace

mlir::LogicalResult simplify(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  buildSimplifyPipeline(manager, Twins::kKept);
  mlir::FailureOr<mlir::func::FuncOp> graph = graphOf(module);
  if (mlir::failed(graph)) {
    return mlir::failure();
  }
  const llvm::StringSet<> names = operationNames(*graph);
  if (mlir::failed(runVerifiedOnce(manager, module))) {
    return mlir::failure();
  }
  noteFolded(*graph, names);
  return mlir::success();
}

mlir::LogicalResult simplifyAndGroup(mlir::ModuleOp module, const GroupOptions& options) {
  mlir::PassManager manager(module.getContext());
  buildGroupPipeline(manager, options);
  mlir::FailureOr<mlir::func::FuncOp> graph = graphOf(module);
  if (mlir::failed(graph) || mlir::failed(runVerifiedOnce(manager, module))) {
    return mlir::failure();
  }
  hoistUpdates(*graph);  // groups stand where the last of their members stood
  return mlir::success();
}

mlir::LogicalResult differentiate(mlir::ModuleOp module) {
  mlir::FailureOr<mlir::func::FuncOp> graph = graphOf(module);
  if (mlir::failed(graph) || !hasGradients(*graph)) {
    return graph;
  }
  return mlir::failure(mlir::failed(simplify(module)) || mlir::failed(expandGradients(*graph)));
}

void registerPipelines() {
  mlir::PassPipelineRegistration<>(
      "gr-simplify", "All device-independent simplifications",
      [](mlir::OpPassManager& manager) { buildSimplifyPipeline(manager, Twins::kMerged); });
}

}  // namespace graphrun::passes
