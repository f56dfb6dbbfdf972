// Generated kernels of one executable: from loop nests to an ELF shared object in memory.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_CODE_MODULE_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_CODE_MODULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/cpu/compiler/map_kernel.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::devices::cpu {

/// Collects kernels and compiles them together for the CPU of this process. Equal kernels are built
/// once. One thread.
class CodeModule {
 public:
  explicit CodeModule(mlir::MLIRContext& context);

  /// Adds the kernel for `op` (see buildMapKernel).
  GeneratedKernel add(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                      KernelLayout result);

  /// The ELF shared object; empty when no kernel was added. Internal on a failure of MLIR, LLVM or
  /// the linker: such a failure is a bug.
  absl::StatusOr<std::vector<uint8_t>> finish();

 private:
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  llvm::StringMap<GeneratedKernel> kernels_;  // by text of the operation and its layouts
  int64_t vectorBits_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_CODE_MODULE_H_
