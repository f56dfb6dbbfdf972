// This is the only place that fixes the order of passes.
#ifndef GRAPHRUN_PASSES_PIPELINES_H_
#define GRAPHRUN_PASSES_PIPELINES_H_

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/numerics.h"

namespace graphrun::passes {

/// Operations that compute the same: they stay where users may still ask for different devices, as
/// in a file, and become one behind pins (pins.h), which tell them apart.
enum class Twins { kKept, kMerged };

/// Builds the pipeline that makes a graph smaller and faster on any device: types, folding,
/// identities, normalisations. Run after import, and again after specialisation.
void buildSimplifyPipeline(mlir::OpPassManager& manager, Twins twins);

/// GroupOptions hold the user's choice of how operations are computed.
struct GroupOptions {
  bool fusion = true;  ///< false: no groups
  runtime::Precision precision = runtime::Precision::kF32;
  bool bytes =
      true;  ///< false: quantised products are of floats, where no device has them of bytes
};

/// Simplification, the precision, then groups. Run on a specialised graph before placement.
void buildGroupPipeline(mlir::OpPassManager& manager, const GroupOptions& options);

/// Runs a pipeline on `module`; the diagnostics of a failure are those of its passes. `simplify` is
/// for graphs that are written to a file: it keeps twins, and notes whose operations are gone
/// (foldedNames).
mlir::LogicalResult simplify(mlir::ModuleOp module);
mlir::LogicalResult simplifyAndGroup(mlir::ModuleOp module, const GroupOptions& options = {});

/// Expands the gradients of a specialised graph (expand_gradients.h) that has some: simplified
/// first, as large forms show only while nothing else uses their parts. Before the graph is cut.
mlir::LogicalResult differentiate(mlir::ModuleOp module);

/// Registers the pipeline `gr-simplify` for graphrun-opt.
void registerPipelines();

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_PIPELINES_H_
