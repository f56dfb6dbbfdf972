#include "devices/cpu/compiler/code_module.h"

#include "devices/codegen/kernel_names.h"
#include "devices/codegen/lowering_passes.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cpu {
namespace {

/// A copy of `all` with one kernel's functions, and the declarations of what any may call.
mlir::OwningOpRef<mlir::ModuleOp> onlyKernel(mlir::ModuleOp all, const std::string& symbol) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(all.getLoc());
  mlir::OpBuilder builder(all.getContext());
  builder.setInsertionPointToEnd(module->getBody());
  for (auto function : all.getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || function.getSymName().starts_with(symbol)) {
      builder.clone(*function);
    }
  }
  return module;
}

}  // namespace

CodeModule::CodeModule(mlir::MLIRContext& context, CodeStore* store, int threads)
    : context_(context),
      store_(store),
      threads_(threads),
      target_(nativeTarget()),
      vectorBits_(nativeVectorBits()) {
  codegen::loadKernelDialects(context);
}

GeneratedKernel CodeModule::add(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                                KernelLayout result) {
  std::string key = codegen::kernelKey(op);
  llvm::raw_string_ostream stream(key);
  for (KernelLayout layout : operands) {
    stream << " " << static_cast<int>(layout.order) << "." << layout.block;
  }
  stream << " -> " << static_cast<int>(result.order) << "." << result.block;
  auto [found, isNew] = kernels_.try_emplace(key);
  if (isNew) {
    found->second = build(op, operands, result);
  }
  return found->second;
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

/// Object files of kernels, lowered together and compiled one by one.
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
  }
  mlir::PassManager passes(&context_);
  codegen::addLoweringPasses(passes);
  if (mlir::failed(passes.run(*all))) {
    return absl::InternalError("lowering of the generated kernels failed");
  }
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> owners;
  std::vector<mlir::ModuleOp> modules;
  for (const std::string& symbol : symbols) {
    owners.push_back(onlyKernel(*all, symbol));
    modules.push_back(*owners.back());
  }
  return compileNative(modules, target_, threads_);
}

absl::StatusOr<std::vector<uint8_t>> CodeModule::finish() {
  if (code_.empty()) {
    return std::vector<uint8_t>();
  }
  std::vector<std::vector<uint8_t>> objects;
  std::vector<std::string> missing;
  for (const auto& [symbol, module] : code_) {
    std::optional<std::vector<uint8_t>> known = store_ ? store_->find(symbol) : std::nullopt;
    known ? objects.push_back(*std::move(known)) : missing.push_back(symbol);
  }
  if (!missing.empty()) {
    GR_ASSIGN_OR_RETURN(std::vector<std::vector<uint8_t>> made, compile(missing));
    for (size_t i = 0; i < made.size(); ++i) {
      if (store_ != nullptr) {
        store_->store(missing[i], made[i]);
      }
      objects.push_back(std::move(made[i]));
    }
  }
  return linkNative(objects);
}

}  // namespace graphrun::devices::cpu
