#include "devices/cuda/compiler/emit/ptx.h"

#include <array>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "devices/codegen/lowering_passes.h"
#include "llvm/Support/TargetSelect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// Architectures of this LLVM, the newest first, without those for one chip alone (sm_90a).
constexpr std::array<int, 6> kArchitectures = {90, 89, 87, 86, 80, 75};

/// Sets the target up, once: programs that make no PTX need none of it.
void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

absl::Status lower(mlir::ModuleOp module) {
  mlir::PassManager passes(module.getContext());
  auto bits = module->getAttrOfType<mlir::IntegerAttr>(kIndexBitsAttr);
  codegen::addLoweringPasses(passes, {.indexBits = bits ? static_cast<unsigned>(bits.getInt()) : 64,
                                      .hasLibm = false,
                                      .convertsBFloat16 = true});
  if (mlir::failed(passes.run(module))) {
    return absl::InternalError("lowering of the generated kernels failed");
  }
  return absl::OkStatus();
}

/// Public functions are what the driver finds and launches.
void markKernels(mlir::ModuleOp module) {
  mlir::OpBuilder builder(module.getContext());
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || function.isPrivate()) {
      continue;
    }
    function->setAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    if (auto threads = function->getAttrOfType<mlir::IntegerAttr>(kBlockThreadsAttr)) {
      function->setAttr(mlir::NVVM::NVVMDialect::getReqntidAttrName(),
                        builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads.getInt())}));
      function->removeAttr(kBlockThreadsAttr);
    }
  }
}

}  // namespace

absl::StatusOr<codegen::CodeTarget> ptxTarget(int computeCapability) {
  for (int architecture : kArchitectures) {
    if (architecture <= computeCapability) {
      return codegen::CodeTarget{"nvptx64-nvidia-cuda", absl::StrCat("sm_", architecture), ""};
    }
  }
  return absl::UnimplementedError(absl::StrCat(
      "no code is generated for GPUs of compute capability ", computeCapability / 10, ".",
      computeCapability % 10, "; expected 7.5 or above: leave the device out of cluster.yaml"));
}

absl::StatusOr<std::string> emitPtx(mlir::ModuleOp module, const codegen::CodeTarget& target) {
  initializeTarget();
  module.getContext()->loadDialect<mlir::NVVM::NVVMDialect>();
  mlir::registerNVVMDialectTranslation(*module.getContext());
  GR_RETURN_IF_ERROR(lower(module));
  markKernels(module);
  llvm::LLVMContext context;
  GR_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> code, codegen::translate(module, context));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, codegen::machineFor(target));
  codegen::optimize(*code, *machine);
  GR_ASSIGN_OR_RETURN(auto text,
                      codegen::emit(*code, *machine, llvm::CodeGenFileType::AssemblyFile));
  return std::string(text.begin(), text.end());
}

}  // namespace graphrun::devices::cuda
