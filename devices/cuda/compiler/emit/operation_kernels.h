// The kernels that compute an operation, while they are built.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_OPERATION_KERNELS_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_OPERATION_KERNELS_H_

#include <string>

#include "devices/cuda/compiler/emit/kernel_launch.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::devices::cuda {

/// Launches and the modules of their kernels, one each: functions of the func, scf, vector, llvm
/// and nvvm dialects, for emitPtx.
struct OperationKernels {
  /// Appends a kernel of that name to an empty module.
  using Build = llvm::function_ref<KernelLaunch(mlir::ModuleOp module, const std::string& symbol)>;

  explicit OperationKernels(mlir::Operation* op) : op(op) {}

  /// One more kernel, to be launched after those before it.
  void add(Build build) {
    modules.push_back(mlir::ModuleOp::create(mlir::UnknownLoc::get(op->getContext())));
    plan.launches.push_back(build(*modules.back(), "kernel"));
  }

  mlir::Operation* op;
  KernelPlan plan;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_OPERATION_KERNELS_H_
