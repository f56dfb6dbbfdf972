#include "devices/cpu/compiler/native_code.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "devices/cpu/vectors/instructions.h"
#include "lld/Common/Driver.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "runtime/base/status.h"

LLD_HAS_DRIVER(elf)

namespace graphrun::devices::cpu {
namespace {

/// Linux keeps files in memory under this folder: it serves when the disk of temporary files is
/// full.
constexpr char kMemoryFolder[] = "/dev/shm";
/// Has nothing but what each processor of x86-64 has, the only family with limits.
constexpr char kOldestProcessor[] = "x86-64";

/// The limit of this process. A wrong one is an error before anything is compiled.
std::optional<InstructionSet> givenLimit() {
  const auto& limit = instructionLimit();
  return limit.ok() ? *limit : std::nullopt;
}

/// AllowedFeatures are what code may use under a limit, as LLVM names it: a processor's features,
/// and more.
struct AllowedFeatures {
  InstructionSet limit;
  const char* processor;
  std::vector<const char*> more;
};

llvm::SmallVector<llvm::StringRef> allowedBy(InstructionSet limit) {
  static const std::vector<AllowedFeatures> kAllowed = {
      {InstructionSet::kSse2, "x86-64", {}},
      {InstructionSet::kAvx2, "x86-64-v3", {}},
      {InstructionSet::kAvx2Vnni, "x86-64-v3", {"avxvnni"}},
      {InstructionSet::kAvx512, "x86-64-v4", {}},
      {InstructionSet::kAvx512Vnni, "x86-64-v4", {"avx512vnni"}},
      {InstructionSet::kAvx512Bf16, "x86-64-v4", {"avx512vnni", "avx512bf16"}},
      {InstructionSet::kAmx, "sapphirerapids", {}},
  };
  auto allowed = llvm::find_if(
      kAllowed, [&](const AllowedFeatures& features) { return features.limit == limit; });
  llvm::SmallVector<llvm::StringRef> names;
  llvm::X86::getFeaturesForCPU(allowed->processor, names);
  names.append(allowed->more.begin(), allowed->more.end());
  return names;
}

/// Features of this CPU that code may use; what is not named is left to the processor's name.
std::map<std::string, bool> codeFeatures() {
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  std::map<std::string, bool> features;
  if (std::optional<InstructionSet> limit = givenLimit()) {
    for (llvm::StringRef name : allowedBy(*limit)) {
      if (host.lookup(name)) {
        features[name.str()] = true;
      }
    }
    return features;
  }
  for (const auto& entry : host) {
    features[entry.getKey().str()] = entry.getValue();
  }
  return features;
}

std::string featureString() {
  const std::map<std::string, bool> features = codeFeatures();
  std::string text;
  for (const auto& [name, enabled] : features) {
    absl::StrAppend(&text, text.empty() ? "" : ",", enabled ? "+" : "-", name);
  }
  return text;
}

/// Bits of the widest vector that is computed in `block`; 0 without vectors.
uint64_t vectorBitsIn(const llvm::BasicBlock& block) {
  uint64_t bits = 0;
  for (const llvm::Instruction& instruction : block) {
    if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType())) {
      bits = std::max<uint64_t>(bits, type->getPrimitiveSizeInBits().getFixedValue());
    }
  }
  return bits;
}

/// Keeps the short loops of a kernel that has vectors: its loops with narrower ones or none do what
/// is left over, and to unroll and vectorise these takes most of the time that LLVM needs, for
/// nothing.
void keepShortLoops(llvm::Function& function) {
  uint64_t widest = 0;
  for (const llvm::BasicBlock& block : function) {
    widest = std::max(widest, vectorBitsIn(block));
  }
  if (widest == 0) {
    return;
  }
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    auto isWide = [&](const llvm::BasicBlock* block) { return vectorBitsIn(*block) == widest; };
    llvm::addStringMetadataToLoop(loop, "llvm.loop.isvectorized", 1);
    if (!loop->isInnermost() || llvm::none_of(loop->blocks(), isWide)) {
      loop->setLoopAlreadyUnrolled();
    }
  }
}

/// Marks kernels with what LLVM is to know of them before it optimises them.
void markKernels(llvm::Module& module) {
  for (llvm::Function& function : module) {
    function.addFnAttr("prefer-vector-width", std::to_string(nativeVectorBits()));
    if (!function.isDeclaration()) {
      keepShortLoops(function);
    }
  }
}

/// A folder for the linker's files, removed with the object.
class TemporaryFolder {
 public:
  ~TemporaryFolder() {
    if (!path_.empty()) {
      // What cannot be removed stays among the temporary files.
      [[maybe_unused]] std::error_code left = llvm::sys::fs::remove_directories(path_);
    }
  }
  absl::Status createIn(llvm::StringRef parent) {
    llvm::SmallString<128> prefix(parent);
    llvm::sys::path::append(prefix, "graphrun");
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory(prefix, path_)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot make a folder in ", parent.str(), ": ", error.message()));
    }
    return absl::OkStatus();
  }
  std::string file(const std::string& name) const {
    llvm::SmallString<128> file(path_);
    llvm::sys::path::append(file, name);
    return std::string(file);
  }

 private:
  llvm::SmallString<128> path_;
};

absl::Status writeFile(const std::string& path, llvm::ArrayRef<uint8_t> data) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  stream.write(reinterpret_cast<const char*>(data.data()), data.size());
  stream.close();
  if (error || stream.has_error()) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

/// Defines the function that LLVM calls to round f32 to bf16 where the target cannot, also where
/// elements are only moved: GCC's library has it from version 13 on. To nearest even; a NaN stays.
void defineBFloat16Rounding(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* f32 = llvm::Type::getFloatTy(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getBFloatTy(context), {f32}, false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::WeakAnyLinkage, "__truncsfbf2", module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", function));
  llvm::Value* x = function->getArg(0);
  llvm::Value* bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff)));
  llvm::Value* quiet = b.CreateOr(bits, 0x400000);
  llvm::Value* chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  llvm::Value* high = b.CreateTrunc(b.CreateLShr(chosen, 16), b.getInt16Ty());
  b.CreateRet(b.CreateBitCast(high, llvm::Type::getBFloatTy(context)));
}

/// Returns whether code for `target` has instructions that round f32 to bf16.
bool roundsToBFloat16(const CodeTarget& target) {
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.features).split(features, ',');
  return llvm::is_contained(features, "+avx512bf16");
}

absl::StatusOr<std::vector<uint8_t>> compileOne(llvm::Module& module, llvm::TargetMachine& machine,
                                                bool roundsBFloat16) {
  markKernels(module);
  if (!roundsBFloat16) {
    defineBFloat16Rounding(module);
  }
  codegen::optimize(module, machine);
  GR_ASSIGN_OR_RETURN(auto object,
                      codegen::emit(module, machine, llvm::CodeGenFileType::ObjectFile));
  return std::vector<uint8_t>(object.begin(), object.end());
}

/// Modules that several threads compile, the next to whoever is free.
class Modules {
 public:
  explicit Modules(llvm::ArrayRef<mlir::ModuleOp> modules)
      : modules_(modules), objects_(modules.size()) {}

  /// Compiles modules until there are no more. Each is in an LLVM context of its own, and gone when
  /// its code is there; a description of the target serves a thread for all that it compiles.
  void work(const CodeTarget& target) {
    absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> machine = codegen::machineFor(target);
    while (true) {
      llvm::LLVMContext context;
      absl::StatusOr<std::unique_ptr<llvm::Module>> module;
      std::optional<size_t> number = next(context, module);
      if (!number) {
        return;
      }
      objects_[*number] = !machine.ok() ? machine.status()
                          : !module.ok()
                              ? module.status()
                              : compileOne(**module, **machine, roundsToBFloat16(target));
    }
  }

  absl::StatusOr<std::vector<std::vector<uint8_t>>> takeObjects() {
    std::vector<std::vector<uint8_t>> objects;
    for (absl::StatusOr<std::vector<uint8_t>>& object : objects_) {
      GR_RETURN_IF_ERROR(object.status());
      objects.push_back(*std::move(object));
    }
    return objects;
  }

 private:
  /// The number of the next module, translated: one thread at a time is in MLIR's context.
  std::optional<size_t> next(llvm::LLVMContext& context,
                             absl::StatusOr<std::unique_ptr<llvm::Module>>& module) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (next_ == modules_.size()) {
      return std::nullopt;
    }
    module = codegen::translate(modules_[next_], context);
    return next_++;
  }

  llvm::ArrayRef<mlir::ModuleOp> modules_;
  std::vector<absl::StatusOr<std::vector<uint8_t>>> objects_;
  std::mutex mutex_;
  size_t next_ = 0;
};

}  // namespace

int64_t nativeVectorBits() {
  static const int64_t kBits = [] {
    // Of features that others imply a limited set names the others alone.
    const std::map<std::string, bool> features = codeFeatures();
    auto has = [&](llvm::StringRef family) {
      return llvm::any_of(features, [&](const auto& feature) {
        return feature.second && llvm::StringRef(feature.first).starts_with(family);
      });
    };
    return has("avx512") ? 512 : has("avx") ? 256 : 128;
  }();
  return kBits;
}

CodeTarget nativeTarget() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::string processor = givenLimit() ? kOldestProcessor : llvm::sys::getHostCPUName().str();
  return {llvm::sys::getProcessTriple(), processor, featureString()};
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> compileNative(
    llvm::ArrayRef<mlir::ModuleOp> modules, const CodeTarget& target, int threads) {
  Modules work(modules);
  std::vector<std::thread> others;
  for (int i = 1; i < std::min(threads, static_cast<int>(modules.size())); ++i) {
    others.emplace_back([&] { work.work(target); });
  }
  work.work(target);
  llvm::for_each(others, [](std::thread& thread) { thread.join(); });
  return work.takeObjects();
}

namespace {

/// ResourceExhausted where files cannot be made below `parent`.
absl::StatusOr<std::vector<uint8_t>> linkIn(llvm::StringRef parent,
                                            llvm::ArrayRef<std::vector<uint8_t>> objects) {
  TemporaryFolder folder;
  GR_RETURN_IF_ERROR(folder.createIn(parent));
  std::vector<std::string> inputs;
  for (const std::vector<uint8_t>& object : objects) {
    inputs.push_back(folder.file(absl::StrCat("kernel", inputs.size(), ".o")));
    GR_RETURN_IF_ERROR(writeFile(inputs.back(), object));
  }
  std::string output = folder.file("kernels.so");
  std::vector<const char*> arguments = {"ld.lld", "-shared", "-o", output.c_str()};
  for (const std::string& input : inputs) {
    arguments.push_back(input.c_str());
  }
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  static std::mutex linker;  // LLD keeps its state in globals
  std::lock_guard<std::mutex> lock(linker);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  auto file = llvm::MemoryBuffer::getFile(output, false, false);
  if (result.retCode != 0 || !file) {
    // The linker does not tell a full disk from what it cannot link.
    return absl::ResourceExhaustedError(
        absl::StrCat("linking the generated kernels failed: ", messages));
  }
  return std::vector<uint8_t>((*file)->getBufferStart(), (*file)->getBufferEnd());
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> linkNative(llvm::ArrayRef<std::vector<uint8_t>> objects) {
  llvm::SmallString<128> usual;
  llvm::sys::path::system_temp_directory(true, usual);
  absl::StatusOr<std::vector<uint8_t>> linked = linkIn(usual, objects);
  if (absl::IsResourceExhausted(linked.status())) {
    linked = linkIn(kMemoryFolder, objects);
  }
  return linked.ok() ? std::move(linked)
                     : absl::InternalError(std::string(linked.status().message()));
}

}  // namespace graphrun::devices::cpu
