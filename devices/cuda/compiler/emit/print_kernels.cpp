#include "devices/cuda/compiler/emit/print_kernels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/compiler/emit/ptx.h"
#include "ir/dialect.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace graphrun::devices::cuda {
namespace {

std::string textOf(const KernelArgument& argument) {
  constexpr const char* kNames[] = {"operand ", "table ",  "result ", "scratch ",
                                    "integer ", "errors ", "step "};
  return absl::StrCat(kNames[static_cast<int>(argument.kind)], argument.value);
}

std::string textOf(const KernelLaunch& launch) {
  auto print = [](std::string* out, const KernelArgument& argument) {
    out->append(textOf(argument));
  };
  return absl::StrCat("launch ", launch.symbol, " grid ", absl::StrJoin(launch.grid, " "),
                      " block ", absl::StrJoin(launch.block, " "), " shared ", launch.sharedBytes,
                      "\n  (", absl::StrJoin(launch.arguments, ", ", print), ")\n");
}

class PrintKernels : public mlir::PassWrapper<PrintKernels, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintKernels)
  PrintKernels() = default;
  PrintKernels(const PrintKernels& other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const override { return "gr-cuda-print-kernels"; }
  llvm::StringRef getDescription() const override {
    return "Show the kernels that are generated for GPUs";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    addKernelDialects(registry);
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      for (mlir::Operation& op : function.front().without_terminator()) {
        if (!llvm::isa<ir::ConstantOp>(op) && mlir::failed(print(&op))) {
          return signalPassFailure();
        }
      }
    }
  }

 private:
  mlir::LogicalResult print(mlir::Operation* op) {
    llvm::outs() << "// " << op->getName() << "\n";
    if (std::string why = whyNotGenerated(op); !why.empty()) {
      llvm::outs() << "unsupported: " << why << "\n";
      return mlir::success();
    }
    OperationKernels kernels = buildKernels(op);
    for (auto [module, launch] : llvm::zip(kernels.modules, kernels.plan.launches)) {
      llvm::outs() << textOf(launch);
      if (mlir::failed(print(op, *module))) {
        return mlir::failure();
      }
    }
    return mlir::success();
  }

  mlir::LogicalResult print(mlir::Operation* op, mlir::ModuleOp module) {
    if (sm_ == 0) {
      llvm::outs() << module << "\n";
      return mlir::success();
    }
    absl::StatusOr<codegen::CodeTarget> target = ptxTarget(sm_);
    absl::StatusOr<std::string> ptx = target.ok() ? emitPtx(module, *target) : target.status();
    if (!ptx.ok()) {
      return op->emitOpError() << std::string(ptx.status().message());
    }
    llvm::outs() << *ptx;
    return mlir::success();
  }

  Option<int> sm_{*this, "sm", llvm::cl::desc("compute capability: 80, 90, 100"),
                  llvm::cl::init(0)};
};

}  // namespace

void registerPrintKernels() { mlir::PassRegistration<PrintKernels>(); }

}  // namespace graphrun::devices::cuda
