#include "devices/cpu/compiler/code_module.h"

#include "absl/strings/str_cat.h"
#include "devices/cpu/compiler/native_code.h"
#include "ir/dialect.h"
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
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

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

}  // namespace

CodeModule::CodeModule(mlir::MLIRContext& context) : vectorBits_(nativeVectorBits()) {
  context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  module_ = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
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
    std::string symbol = absl::StrCat("graphrun_kernel_", kernels_.size() - 1);
    found->second = buildMapKernel(*module_, op, operands, result, vectorBits_, symbol);
  }
  return found->second;
}

absl::StatusOr<std::vector<uint8_t>> CodeModule::finish() {
  if (kernels_.empty()) {
    return std::vector<uint8_t>();
  }
  mlir::PassManager passes(module_->getContext());
  addLoweringPasses(passes);
  if (mlir::failed(passes.run(*module_))) {
    return absl::InternalError("lowering of the generated kernels failed");
  }
  return compileNative(*module_);
}

}  // namespace graphrun::devices::cpu
