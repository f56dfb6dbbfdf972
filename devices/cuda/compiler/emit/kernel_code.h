// Generated kernels of one executable: from operations to PTX.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_CODE_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_CODE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/codegen/llvm_code.h"
#include "devices/codegen/map_nest.h"
#include "devices/cuda/compiler/emit/kernel_launch.h"
#include "devices/cuda/compiler/emit/operation_kernels.h"
#include "devices/device_compiler.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::devices::cuda {

/// Registers the dialects that the functions of kernels consist of.
void addKernelDialects(mlir::DialectRegistry& registry);

/// Reason why no kernel can be generated for `op`, a gr operation or group with static shapes;
/// empty when one can.
std::string whyNotGenerated(mlir::Operation* op);

/// How the tensors of a kernel lie.
struct MapLayouts {
  llvm::SmallVector<codegen::KernelLayout> operands;  ///< none: all are dense
  codegen::KernelLayout result;
};

/// The kernels for `op`; its context must have the dialects above. Requires an empty
/// whyNotGenerated(op), and dense tensors of all but maps (map_kernel.h).
OperationKernels buildKernels(mlir::Operation* op, const MapLayouts& layouts = {});

/// Collects kernels for one kind of GPU. Equal kernels are built once, and not at all when the
/// store has their text: kernels are named by what is in them. One thread.
class KernelCode {
 public:
  /// `target`: of ptxTarget; `store` may be null.
  KernelCode(mlir::MLIRContext& context, codegen::CodeTarget target,
             runtime::CodeStore* store = nullptr);

  /// Adds the kernels for `op`, as buildKernels.
  const KernelPlan& add(mlir::Operation* op, const MapLayouts& layouts = {});
  /// The same of what `build` builds, which `key` stands for.
  const KernelPlan& addAs(const std::string& key, llvm::function_ref<OperationKernels()> build);

  mlir::MLIRContext& context() const { return context_; }

  /// The text of each kernel that a launch names. Internal on a failure of MLIR or LLVM: such a
  /// failure is a bug.
  absl::StatusOr<std::vector<KernelText>> finish();

 private:
  mlir::MLIRContext& context_;
  codegen::CodeTarget target_;
  runtime::CodeStore* store_;
  llvm::StringMap<KernelPlan> plans_;                              // by text of the operation
  std::map<std::string, mlir::OwningOpRef<mlir::ModuleOp>> code_;  // by symbol
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_CODE_H_
