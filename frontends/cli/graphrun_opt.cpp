// graphrun-opt: reads, transforms and prints modules of the gr dialect; the tests' way in.
#include "devices/cuda/compiler/emit/print_kernels.h"
#include "devices/cuda/compiler/print_executable.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/passes.h"
#include "passes/pipelines.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<graphrun::ir::GRDialect, mlir::func::FuncDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  graphrun::passes::registerGraphRunPasses();
  graphrun::passes::registerPipelines();
  graphrun::devices::cuda::registerPrintKernels();
#ifdef GRAPHRUN_HAS_CUDA
  graphrun::devices::cuda::registerPrintExecutable();
#endif
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "GraphRun optimizer driver\n", registry));
}
