#include "devices/cpu/compiler/code_module.h"

#include "devices/codegen/kernel_names.h"
#include "devices/codegen/lowering_passes.h"
#include "devices/codegen/map_scalars.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cpu {
namespace {

/// Kernels that are lowered together: what MLIR and LLVM need for them is given back before the
/// next ones.
constexpr size_t kBatch = 64;

/// Splits `all` into a module a symbol, with declarations of what any of them may call: the names
/// of each kernel's functions begin with its symbol.
std::vector<mlir::OwningOpRef<mlir::ModuleOp>> splitByKernel(mlir::ModuleOp all,
                                                             llvm::ArrayRef<std::string> symbols) {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  llvm::StringMap<mlir::Block*> bodies;
  for (const std::string& symbol : symbols) {
    modules.push_back(mlir::ModuleOp::create(all.getLoc()));
    bodies[symbol] = modules.back()->getBody();
  }
  for (auto function : llvm::to_vector(all.getOps<mlir::LLVM::LLVMFuncOp>())) {
    if (function.isExternal()) {
      for (auto& module : modules) {
        module->getBody()->push_back(function->clone());
      }
    } else {
      llvm::StringRef symbol = function.getSymName().take_front(symbols.front().size());
      function->moveBefore(bodies.at(symbol), bodies.at(symbol)->end());
    }
  }
  return modules;
}

}  // namespace

CodeModule::CodeModule(mlir::MLIRContext& context, runtime::CodeStore* store, int threads)
    : context_(context),
      store_(store),
      threads_(threads),
      target_(nativeTarget()),
      vectorBits_(nativeVectorBits()) {
  codegen::loadKernelDialects(context);
}

GeneratedKernel CodeModule::add(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                                KernelLayout result) {
  llvm::SmallVector<mlir::Value> scalars = codegen::mapScalars(op);
  std::string key = codegen::kernelKey(op, scalars);
  llvm::raw_string_ostream stream(key);
  for (KernelLayout layout : operands) {
    stream << " " << static_cast<int>(layout.order) << "." << layout.block;
  }
  stream << " -> " << static_cast<int>(result.order) << "." << result.block;
  auto [found, isNew] = kernels_.try_emplace(key);
  if (isNew) {
    found->second = build(op, operands, result);
    return found->second;
  }
  GeneratedKernel kernel = found->second;
  llvm::transform(scalars, kernel.sizes.end() - static_cast<ptrdiff_t>(scalars.size()),
                  codegen::scalarBits);
  return kernel;
}

GeneratedKernel CodeModule::build(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                                  KernelLayout result) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context_));
  GeneratedKernel kernel = buildMapKernel(*module, op, operands, result, vectorBits_, "kernel");
  kernel.symbol = codegen::nameKernel(*module, target_);
  code_.try_emplace(kernel.symbol, std::move(module));
  return kernel;
}

/// Object files of a batch of kernels, lowered together and compiled one by one.
absl::StatusOr<std::vector<std::vector<uint8_t>>> CodeModule::compile(
    llvm::ArrayRef<std::string> symbols) {
  mlir::OwningOpRef<mlir::ModuleOp> all = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context_));
  for (const std::string& symbol : symbols) {
    for (mlir::Operation& op : llvm::make_early_inc_range(*code_[symbol]->getBody())) {
      // What several of them call is declared once.
      auto declared = llvm::dyn_cast<mlir::LLVM::LLVMFuncOp>(op);
      if (!declared || !all->lookupSymbol(declared.getSymName())) {
        op.moveBefore(all->getBody(), all->getBody()->end());
      }
    }
    code_[symbol] = nullptr;
  }
  mlir::PassManager passes(&context_);
  passes.enableVerifier(false);  // what they make is verified as a whole, as LLVM's code
  codegen::addLoweringPasses(passes);
  if (mlir::failed(passes.run(*all))) {
    return absl::InternalError("lowering of the generated kernels failed");
  }
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> owners = splitByKernel(*all, symbols);
  std::vector<mlir::ModuleOp> modules;
  llvm::transform(owners, std::back_inserter(modules), [](auto& owner) { return *owner; });
  return compileNative(modules, target_, threads_);
}

absl::StatusOr<std::vector<uint8_t>> CodeModule::finish() {
  if (code_.empty()) {
    return std::vector<uint8_t>();
  }
  std::vector<std::vector<uint8_t>> objects;
  std::vector<std::string> missing;
  for (const auto& [symbol, module] : code_) {
    auto known = store_ == nullptr ? std::nullopt : store_->find(symbol);
    if (known) {
      objects.emplace_back(known->begin(), known->end());
    } else {
      missing.push_back(symbol);
    }
  }
  for (llvm::ArrayRef<std::string> left = missing; !left.empty();) {
    llvm::ArrayRef<std::string> batch = left.take_front(kBatch);
    left = left.drop_front(batch.size());
    GR_ASSIGN_OR_RETURN(std::vector<std::vector<uint8_t>> made, compile(batch));
    for (size_t i = 0; i < made.size(); ++i) {
      if (store_ != nullptr) {
        store_->store(batch[i], made[i]);
      }
      objects.push_back(std::move(made[i]));
    }
  }
  return linkNative(objects);
}

}  // namespace graphrun::devices::cpu
