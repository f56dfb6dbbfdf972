// One operation or group as a kernel for GPUs: its PTX interpreted, and computed by reference
// kernels.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_KERNEL_CASE_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_KERNEL_CASE_H_

#include <string>

#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cuda {

/// Why no kernel is generated for the first operation of the function `text` that is not a
/// constant; empty when one is.
std::string whyDeclined(const std::string& text);

/// The first operation of a function that is not a constant.
class KernelCase {
 public:
  /// `layouts`: how the tensors of a map or a pool lie.
  explicit KernelCase(const std::string& text, const MapLayouts& layouts = {});

  mlir::Operation* op() const { return op_; }
  /// The first kernel and its launch.
  mlir::ModuleOp kernel() { return *kernels_->modules.front(); }
  const KernelLaunch& launch() const { return kernels_->plan.launches.front(); }
  const KernelPlan& plan() const { return kernels_->plan; }
  /// The text of a kernel.
  std::string ptx(int computeCapability, size_t kernel = 0);

  /// Operands: random floats in [-3, 3], or whole numbers of that range; constants as they are.
  cpu::Tensors operands(unsigned seed, bool whole) const;
  /// What its PTX gives.
  cpu::Tensors interpreted(const cpu::Tensors& operands, int computeCapability = 90);
  /// What the kernels of the last interpretation found wrong; 0: nothing.
  KernelError error() const { return static_cast<KernelError>(error_.word % kErrorKinds); }
  const ErrorRecord& errorRecord() const { return error_; }
  /// What reference kernels give, one for each operation.
  cpu::Tensors expected(const cpu::Tensors& operands) const;

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::Operation* op_ = nullptr;
  std::optional<OperationKernels> kernels_;
  ErrorRecord error_;
};

/// Memory of N x C x H x W as it lies with the channels last.
cpu::HostTensor channelsLast(const cpu::HostTensor& dense);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_KERNEL_CASE_H_
