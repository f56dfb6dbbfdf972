#include "devices/codegen/lowering_passes.h"

#include "devices/codegen/double_forms.h"
#include "devices/codegen/math_forms.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace graphrun::devices::codegen {
namespace {

/// Replaces transcendental functions by arithmetic that vectorises. Those of f64 are left to the C
/// library where there is one.
struct ApproximateMath : mlir::PassWrapper<ApproximateMath, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)
  explicit ApproximateMath(const LoweringOptions& options) : options_(options) {}
  llvm::StringRef getArgument() const override { return "gr-approximate-math"; }
  llvm::StringRef getDescription() const override { return "math functions as arithmetic"; }
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    populateFloatForms(patterns);
    if (!options_.hasLibm) {
      populateDoubleForms(patterns);
    }
    if (!options_.convertsBFloat16) {
      populateBFloat16Forms(patterns);
    }
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }

 private:
  LoweringOptions options_;
};

/// Makes expm1 and log1p of f64 calls of the C library's: MLIR's way to LLVM gives exp(x) - 1 and
/// log(1 + x), which have no digits near 0.
struct CallLibrary : mlir::PassWrapper<CallLibrary, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CallLibrary)
  llvm::StringRef getArgument() const override { return "gr-call-library"; }
  llvm::StringRef getDescription() const override { return "expm1 and log1p as calls"; }
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    mlir::populateMathToLibmConversionPatterns(patterns);
    mlir::ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](mlir::Operation*) { return true; });
    target.addIllegalOp<mlir::math::ExpM1Op, mlir::math::Log1pOp>();
    if (mlir::failed(mlir::applyPartialConversion(getOperation(), target, std::move(patterns)))) {
      signalPassFailure();
    }
  }
};

/// Spells out conversions between f32 and bf16 as integer arithmetic that rounds to nearest even.
struct ExpandBFloat16 : mlir::PassWrapper<ExpandBFloat16, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandBFloat16)
  llvm::StringRef getArgument() const override { return "gr-expand-bf16"; }
  llvm::StringRef getDescription() const override { return "conversions of bf16 as arithmetic"; }
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    mlir::arith::populateExpandBFloat16Patterns(patterns);
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};

}  // namespace

void addKernelDialects(mlir::DialectRegistry& registry) {
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
}

void loadKernelDialects(mlir::MLIRContext& context) {
  mlir::DialectRegistry registry;
  addKernelDialects(registry);
  context.appendDialectRegistry(registry);
  for (llvm::StringRef name : registry.getDialectNames()) {
    context.getOrLoadDialect(name);
  }
}

void addLoweringPasses(mlir::PassManager& passes, const LoweringOptions& options) {
  passes.addPass(mlir::createLowerAffinePass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(std::make_unique<ApproximateMath>(options));
  if (!options.convertsBFloat16) {
    passes.addPass(std::make_unique<ExpandBFloat16>());
  }
  if (options.hasLibm) {
    passes.addPass(std::make_unique<CallLibrary>());
  }
  passes.addPass(mlir::createConvertSCFToCFPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  if (options.hasLibm) {
    passes.addPass(mlir::createConvertMathToLibmPass());
  }
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass({options.indexBits}));
  passes.addPass(mlir::createConvertControlFlowToLLVMPass({options.indexBits}));
  passes.addPass(mlir::createConvertFuncToLLVMPass({false, options.indexBits}));
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
}

}  // namespace graphrun::devices::codegen
