// Runs kernels for GPUs on the CPU: the same function, with its thread's number as loops.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_EMULATED_KERNEL_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_EMULATED_KERNEL_H_

#include <memory>
#include <vector>

#include "devices/cpu/code_image.h"
#include "devices/cuda/compiler/kernel_launch.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

/// A kernel of `module` (before emitPtx, which it may still be given to) compiled for the CPU by
/// the passes that it is compiled by for GPUs, up to LLVM.
class EmulatedKernel {
 public:
  EmulatedKernel(mlir::ModuleOp module, const std::string& symbol);

  /// Runs all blocks of `launch` one after the other, their threads in turns.
  void run(const KernelLaunch& launch, const std::vector<void*>& operands,
           const std::vector<void*>& results) const;

 private:
  std::unique_ptr<cpu::CodeImage> image_;
  cpu::GeneratedFunction function_ = nullptr;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_EMULATED_KERNEL_H_
