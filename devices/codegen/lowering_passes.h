// From loops over scalars and vectors to the LLVM dialect.
#ifndef GRAPHRUN_DEVICES_CODEGEN_LOWERING_PASSES_H_
#define GRAPHRUN_DEVICES_CODEGEN_LOWERING_PASSES_H_

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

namespace graphrun::devices::codegen {

/// Loads the dialects that kernels are made of.
void loadKernelDialects(mlir::MLIRContext& context);

/// Appends the passes that lower functions of the affine, arith, func, math, scf and vector
/// dialects. Math functions become polynomials, on vectors as on scalars.
void addLoweringPasses(mlir::PassManager& passes);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_LOWERING_PASSES_H_
