// These passes lower loops over scalars and vectors to the LLVM dialect.
#ifndef GRAPHRUN_DEVICES_CODEGEN_LOWERING_PASSES_H_
#define GRAPHRUN_DEVICES_CODEGEN_LOWERING_PASSES_H_

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

namespace graphrun::devices::codegen {

/// LoweringOptions hold what differs between devices.
struct LoweringOptions {
  unsigned indexBits = 64;  ///< of the type `index`: in which offsets in memory are computed
  bool hasLibm = true;      ///< functions of f64 become calls of the C library's
  /// The target converts to bf16 and back by instructions that take subnormal numbers as they are.
  /// Otherwise arithmetic on bits does: x86's instruction flushes them to 0, and no library of GCC
  /// 12 has the functions that LLVM would call.
  bool convertsBFloat16 = false;
};

/// Adds the dialects that kernels are made of.
void addKernelDialects(mlir::DialectRegistry& registry);
/// Loads that.
void loadKernelDialects(mlir::MLIRContext& context);

/// Appends the passes that lower functions of the affine, arith, func, math, scf and vector
/// dialects. Math functions become arithmetic, on vectors as on scalars.
void addLoweringPasses(mlir::PassManager& passes, const LoweringOptions& options = {});

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_LOWERING_PASSES_H_
