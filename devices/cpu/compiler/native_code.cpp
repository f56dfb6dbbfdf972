#include "devices/cpu/compiler/native_code.h"

#include <map>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "lld/Common/Driver.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/base/status.h"

LLD_HAS_DRIVER(elf)

namespace graphrun::devices::cpu {
namespace {

/// Features of this CPU, by name.
std::map<std::string, bool> hostFeatures() {
  std::map<std::string, bool> features;
  for (const auto& entry : llvm::sys::getHostCPUFeatures()) {
    features[entry.getKey().str()] = entry.getValue();
  }
  return features;
}

std::string featureString() {
  std::string features;
  for (const auto& [name, enabled] : hostFeatures()) {
    absl::StrAppend(&features, features.empty() ? "" : ",", enabled ? "+" : "-", name);
  }
  return features;
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> nativeTarget() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) {
    return absl::InternalError(absl::StrCat("LLVM has no target for ", triple, ": ", error));
  }
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, llvm::sys::getHostCPUName(), featureString(), {},
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", std::to_string(nativeVectorBits()));
  }
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

absl::StatusOr<llvm::SmallVector<char, 0>> emitObject(llvm::Module& module,
                                                      llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return absl::InternalError("LLVM cannot emit object files for this CPU");
  }
  passes.run(module);
  return object;
}

/// A folder for the linker's files, removed with the object.
class TemporaryFolder {
 public:
  ~TemporaryFolder() {
    if (!path_.empty()) {
      llvm::sys::fs::remove_directories(path_);
    }
  }
  absl::Status create() {
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("graphrun", path_)) {
      return absl::InternalError(absl::StrCat("cannot make a temporary folder: ", error.message()));
    }
    return absl::OkStatus();
  }
  std::string file(const char* name) const {
    llvm::SmallString<128> file(path_);
    llvm::sys::path::append(file, name);
    return std::string(file);
  }

 private:
  llvm::SmallString<128> path_;
};

absl::Status writeFile(const std::string& path, llvm::ArrayRef<char> data) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  stream.write(data.data(), data.size());
  stream.close();
  if (error || stream.has_error()) {
    return absl::InternalError(absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint8_t>> link(llvm::ArrayRef<char> object) {
  TemporaryFolder folder;
  GR_RETURN_IF_ERROR(folder.create());
  std::string input = folder.file("kernels.o");
  std::string output = folder.file("kernels.so");
  GR_RETURN_IF_ERROR(writeFile(input, object));
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const char* arguments[] = {"ld.lld", "-shared", "-o", output.c_str(), input.c_str()};
  static std::mutex linker;  // LLD keeps its state in globals
  std::lock_guard<std::mutex> lock(linker);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  auto file = llvm::MemoryBuffer::getFile(output, false, false);
  if (result.retCode != 0 || !file) {
    return absl::InternalError(absl::StrCat("linking the generated kernels failed: ", messages));
  }
  return std::vector<uint8_t>((*file)->getBufferStart(), (*file)->getBufferEnd());
}

}  // namespace

int64_t nativeVectorBits() {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return features.lookup("avx512f") ? 512 : features.lookup("avx") ? 256 : 128;
}

absl::StatusOr<std::vector<uint8_t>> compileNative(mlir::ModuleOp module) {
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  GR_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, nativeTarget());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> native = mlir::translateModuleToLLVMIR(module, context);
  if (native == nullptr) {
    return absl::InternalError("translation of the generated kernels to LLVM IR failed");
  }
  native->setTargetTriple(machine->getTargetTriple().str());
  native->setDataLayout(machine->createDataLayout());
  optimize(*native, *machine);
  GR_ASSIGN_OR_RETURN(auto object, emitObject(*native, *machine));
  return link(object);
}

}  // namespace graphrun::devices::cpu
