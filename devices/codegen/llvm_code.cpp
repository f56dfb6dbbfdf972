#include "devices/codegen/llvm_code.h"

#include "absl/strings/str_cat.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace graphrun::devices::codegen {

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> machineFor(const CodeTarget& target) {
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (found == nullptr) {
    return absl::InternalError(absl::StrCat("LLVM has no target for ", target.triple, ": ", error));
  }
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(target.triple, target.processor, target.features, {},
                                 llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

absl::StatusOr<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module,
                                                        llvm::LLVMContext& context) {
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::Module> translated = mlir::translateModuleToLLVMIR(module, context);
  if (translated == nullptr) {
    return absl::InternalError("translation of the generated kernels to LLVM IR failed");
  }
  return translated;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

absl::StatusOr<llvm::SmallVector<char, 0>> emit(llvm::Module& module, llvm::TargetMachine& machine,
                                                llvm::CodeGenFileType form) {
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, form)) {
    return absl::InternalError(
        absl::StrCat("LLVM cannot emit this form of code for ", machine.getTargetTriple().str()));
  }
  passes.run(module);
  return code;
}

}  // namespace graphrun::devices::codegen
