// Code through LLVM: what all its targets share.
#ifndef GRAPHRUN_DEVICES_CODEGEN_LLVM_CODE_H_
#define GRAPHRUN_DEVICES_CODEGEN_LLVM_CODE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::codegen {

/// A CodeTarget is what code is made for, as LLVM names it. The target must have been initialised.
struct CodeTarget {
  std::string triple;
  std::string processor;
  std::string features;
};

/// LLVM's description of the target; Internal when this LLVM has none for it.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> machineFor(const CodeTarget& target);

/// `module`, of the LLVM dialect and of dialects whose translation is registered, as LLVM IR.
/// Internal on failure.
absl::StatusOr<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module,
                                                        llvm::LLVMContext& context);

/// Runs LLVM's passes of -O2. The module takes the target's triple and data layout.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

/// Code of the whole module: an object file, or text. Internal when the target has no such form.
absl::StatusOr<llvm::SmallVector<char, 0>> emit(llvm::Module& module, llvm::TargetMachine& machine,
                                                llvm::CodeGenFileType form);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_LLVM_CODE_H_
