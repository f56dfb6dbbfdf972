#include "devices/cpu/compiler/code_module.h"

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "llvm/Support/xxhash.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cpu {
namespace {

/// Replaces transcendental functions by polynomials that vectorise; what is left becomes libm
/// calls.
struct ApproximateMath : mlir::PassWrapper<ApproximateMath, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)
  llvm::StringRef getArgument() const override { return "gr-cpu-approximate-math"; }
  llvm::StringRef getDescription() const override { return "polynomials for math functions"; }
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    mlir::populateMathPolynomialApproximationPatterns(patterns);
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};

void addLoweringPasses(mlir::PassManager& passes) {
  passes.addPass(mlir::createLowerAffinePass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(std::make_unique<ApproximateMath>());
  passes.addPass(mlir::createConvertSCFToCFPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createConvertMathToLibmPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
}

/// Prints what of `op` matters to its kernel: not where it stands in the graph, on which device and
/// under which name. A copy outside the graph prints its operands as their types, and without
/// numbering the values of the whole graph first.
void printForKey(mlir::Operation* op, int64_t elements, llvm::raw_ostream& stream) {
  mlir::OwningOpRef<mlir::Operation*> copy = op->clone();
  (*copy)->walk([](mlir::Operation* inner) {
    for (llvm::StringRef name : {ir::kNameAttr, ir::kDeviceAttr, ir::kRankAttr}) {
      inner->removeAttr(name);
    }
  });
  (*copy)->print(
      stream,
      mlir::OpPrintingFlags().assumeVerified().useLocalScope().elideLargeElementsAttrs(elements));
}

/// Names a kernel by its content and what it is compiled for.
std::string nameOf(mlir::ModuleOp module, const NativeTarget& target) {
  std::string text = absl::StrCat(target.triple, " ", target.processor, " ", target.features, "\n");
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().assumeVerified().useLocalScope());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return absl::StrCat("graphrun_", absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

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
  context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
}

GeneratedKernel CodeModule::add(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                                KernelLayout result) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  printForKey(op, 4, stream);
  // Constants inside a group are part of its code; what is printed of large ones tells nothing.
  op->walk(
      [&](ir::ConstantOp constant) { stream << " " << constant.getValue().getAsOpaquePointer(); });
  for (mlir::Value operand : op->getOperands()) {
    // Which operands are one value counts, and of a splat, which is part of the code, its value.
    stream << " #" << std::distance(op->operand_begin(), llvm::find(op->getOperands(), operand));
    if (auto constant = operand.getDefiningOp<ir::ConstantOp>()) {
      printForKey(constant, 64, stream);
    }
  }
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
  kernel.symbol = nameOf(*module, target_);
  mlir::SymbolTable symbols(*module);
  for (auto function : llvm::to_vector(module->getOps<mlir::func::FuncOp>())) {
    llvm::StringRef suffix = function.getSymName().substr(llvm::StringRef("kernel").size());
    mlir::LogicalResult renamed = symbols.rename(function, kernel.symbol + suffix.str());
    assert(mlir::succeeded(renamed));
    static_cast<void>(renamed);
  }
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
  addLoweringPasses(passes);
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
