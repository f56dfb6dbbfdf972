#include "devices/cuda/compiler/print_executable.h"

#include "absl/strings/str_cat.h"
#include "devices/compiler/executable_text.h"
#include "devices/cuda/compiler/cuda_compiler.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/kernels/layouts.h"
#include "ir/dialect.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// Through the file form, as a device gets it.
absl::StatusOr<Executable> compiled(const DeviceCompiler& compiler, mlir::func::FuncOp function,
                                    int capability, runtime::Precision precision) {
  Tuning tuning;
  tuning.precision = precision;
  GR_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes,
                      compiler.compile(
                          function, {"here/cuda:0", "cuda", 0, {}, 0, 0},
                          absl::StrCat("cuda some GPU sm_", capability),
                          [](mlir::Operation*) { return std::nullopt; }, tuning));
  return readExecutable(bytes, layoutBytes);
}

/// Each unsupported operation, and why; true where there is none.
bool printUnsupported(const DeviceCompiler& compiler, mlir::func::FuncOp function) {
  bool all = true;
  for (mlir::Operation& op : function.front()) {
    if (std::string why = compiler.whyUnsupported(&op); !why.empty()) {
      llvm::outs() << "unsupported: " << op.getName() << ": " << why << "\n";
      all = false;
    }
  }
  return all;
}

class PrintExecutable
    : public mlir::PassWrapper<PrintExecutable, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintExecutable)
  PrintExecutable() = default;
  PrintExecutable(const PrintExecutable& other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const override { return "gr-cuda-print-executable"; }
  llvm::StringRef getDescription() const override {
    return "Show what partitions for GPUs are compiled to";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    addKernelDialects(registry);
  }

  void runOnOperation() override {
    absl::StatusOr<std::unique_ptr<DeviceCompiler>> compiler = createCudaCompiler();
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      llvm::outs() << "// " << function.getSymName() << "\n";
      if (!compiler.ok() || !printUnsupported(**compiler, function)) {
        continue;
      }
      absl::StatusOr<Executable> executable = compiled(
          **compiler, function, sm_, tf32_ ? runtime::Precision::kTF32 : runtime::Precision::kF32);
      if (!executable.ok()) {
        function.emitError() << std::string(executable.status().message());
        return signalPassFailure();
      }
      llvm::outs() << textOf(*executable);
    }
  }

 private:
  Option<int> sm_{*this, "sm", llvm::cl::desc("compute capability: 80, 90, 100"),
                  llvm::cl::init(90)};
  Option<bool> tf32_{*this, "tf32", llvm::cl::desc("as with --precision tf32"),
                     llvm::cl::init(false)};
};

}  // namespace

void registerPrintExecutable() { mlir::PassRegistration<PrintExecutable>(); }

}  // namespace graphrun::devices::cuda
