// A code module makes an ELF shared object in memory of the loop nests of an executable's generated
// kernels.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_CODE_MODULE_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_CODE_MODULE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/cpu/compiler/map_kernel.h"
#include "devices/cpu/compiler/native_code.h"
#include "devices/device_compiler.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::devices::cpu {

/// Collects kernels and compiles them for the CPU of this process. Equal kernels are built once,
/// and not at all when the store has their code: kernels are named by what is in them. One thread.
class CodeModule {
 public:
  /// `store` may be null; `threads`: that compile side by side.
  explicit CodeModule(mlir::MLIRContext& context, runtime::CodeStore* store = nullptr,
                      int threads = 1);

  /// Adds the kernel for `op` (see buildMapKernel).
  GeneratedKernel add(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                      KernelLayout result);

  /// The ELF shared object; empty when no kernel was added. Internal on a failure of MLIR, LLVM or
  /// the linker: such a failure is a bug.
  absl::StatusOr<std::vector<uint8_t>> finish();

 private:
  GeneratedKernel build(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                        KernelLayout result);
  absl::StatusOr<std::vector<std::vector<uint8_t>>> compile(llvm::ArrayRef<std::string> symbols);

  mlir::MLIRContext& context_;
  runtime::CodeStore* store_;
  int threads_;
  CodeTarget target_;
  int64_t vectorBits_;
  llvm::StringMap<GeneratedKernel> kernels_;  // by text of the operation and its layouts
  std::map<std::string, mlir::OwningOpRef<mlir::ModuleOp>> code_;  // by symbol
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_CODE_MODULE_H_
