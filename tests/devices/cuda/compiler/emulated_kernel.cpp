#include "tests/devices/cuda/compiler/emulated_kernel.h"

#include <catch2/catch.hpp>

#include "devices/codegen/lowering_passes.h"
#include "devices/cpu/compiler/native_code.h"
#include "devices/cuda/compiler/ptx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "tests/devices/cuda/compiler/block_fibers.h"

namespace graphrun::devices::cuda {
namespace {

/// Parameters that the kernel gets behind its own: numbers, and what threads wait for each other
/// by.
enum Extra : unsigned { kThread, kBlock, kShuffle, kBarrier, kExtras };

/// Makes parameters of the numbers of thread and block, and calls of shuffles and barriers.
void takeExtras(mlir::func::FuncOp kernel) {
  namespace NVVM = mlir::NVVM;
  namespace LLVM = mlir::LLVM;
  mlir::OpBuilder b(kernel.getContext());
  mlir::Location loc = kernel.getLoc();
  mlir::Type i32 = b.getI32Type();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  unsigned first = kernel.getNumArguments();
  for (mlir::Type type : {i32, i32, mlir::Type(pointer), mlir::Type(pointer)}) {
    kernel.insertArgument(kernel.getNumArguments(), type, {}, loc);
  }
  auto extra = [&](Extra which) -> mlir::Value { return kernel.getArgument(first + which); };
  kernel.walk([&](mlir::Operation* op) {
    b.setInsertionPoint(op);
    if (llvm::isa<NVVM::ThreadIdXOp, NVVM::BlockIdXOp>(op)) {
      op->replaceAllUsesWith(
          mlir::ValueRange{extra(llvm::isa<NVVM::ThreadIdXOp>(op) ? kThread : kBlock)});
      op->erase();
    } else if (auto shuffle = llvm::dyn_cast<NVVM::ShflOp>(op)) {
      auto type = LLVM::LLVMFunctionType::get(i32, {i32, i32});
      mlir::Value bits = b.create<LLVM::BitcastOp>(loc, i32, shuffle.getVal());
      mlir::Value got =
          b.create<LLVM::CallOp>(loc, type,
                                 mlir::ValueRange{extra(kShuffle), bits, shuffle.getOffset()})
              .getResult();
      shuffle.replaceAllUsesWith(
          b.create<LLVM::BitcastOp>(loc, shuffle.getType(), got).getResult());
      op->erase();
    } else if (llvm::isa<NVVM::Barrier0Op>(op)) {
      auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {});
      b.create<LLVM::CallOp>(loc, type, mlir::ValueRange{extra(kBarrier)});
      op->erase();
    }
  });
}

/// Appends @run(arguments, block, thread): calls the kernel with the arguments that a table points
/// to.
void addEntry(mlir::func::FuncOp kernel) {
  mlir::OpBuilder b(kernel.getContext());
  mlir::Location loc = kernel.getLoc();
  auto pointer = mlir::LLVM::LLVMPointerType::get(b.getContext());
  mlir::Type i64 = b.getI64Type();
  b.setInsertionPointAfter(kernel);
  auto entry = b.create<mlir::func::FuncOp>(loc, "run", b.getFunctionType({pointer, i64, i64}, {}));
  mlir::Block* block = entry.addEntryBlock();
  b.setInsertionPointToStart(block);
  llvm::SmallVector<mlir::Value> arguments;
  for (mlir::Type type : kernel.getArgumentTypes().drop_back(kExtras)) {
    auto index = static_cast<int32_t>(arguments.size());
    mlir::Value slot = b.create<mlir::LLVM::GEPOp>(loc, pointer, i64, block->getArgument(0),
                                                   llvm::ArrayRef<mlir::LLVM::GEPArg>{index});
    arguments.push_back(b.create<mlir::LLVM::LoadOp>(loc, type, slot));
  }
  for (unsigned i : {2, 1}) {
    arguments.push_back(b.create<mlir::LLVM::TruncOp>(loc, b.getI32Type(), block->getArgument(i)));
  }
  for (void* function :
       {reinterpret_cast<void*>(&shuffleInWarp), reinterpret_cast<void*>(&waitForBlock)}) {
    auto address = reinterpret_cast<int64_t>(function);  // of this process, which the code is for
    mlir::Value bits = b.create<mlir::LLVM::ConstantOp>(loc, i64, b.getI64IntegerAttr(address));
    arguments.push_back(b.create<mlir::LLVM::IntToPtrOp>(loc, pointer, bits));
  }
  b.create<mlir::func::CallOp>(loc, kernel, arguments);
  b.create<mlir::func::ReturnOp>(loc);
}

}  // namespace

EmulatedKernel::EmulatedKernel(mlir::ModuleOp module, const std::string& symbol) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  auto kernel = copy->lookupSymbol<mlir::func::FuncOp>(symbol);
  REQUIRE(kernel);
  takeExtras(kernel);
  addEntry(kernel);
  auto bits = module->getAttrOfType<mlir::IntegerAttr>(kIndexBitsAttr);
  REQUIRE(bits);
  mlir::PassManager passes(module.getContext());
  codegen::addLoweringPasses(passes,
                             {.indexBits = static_cast<unsigned>(bits.getInt()), .hasLibm = false});
  REQUIRE(mlir::succeeded(passes.run(*copy)));
  auto objects = cpu::compileNative({*copy}, cpu::nativeTarget(), 1);
  REQUIRE(objects.status().ToString() == "OK");
  auto linked = cpu::linkNative(*objects);
  REQUIRE(linked.status().ToString() == "OK");
  auto image = cpu::CodeImage::load(*linked);
  REQUIRE(image.status().ToString() == "OK");
  image_ = *std::move(image);
  function_ = image_->find("run").value();
}

void EmulatedKernel::run(const KernelLaunch& launch, const std::vector<void*>& operands,
                         const std::vector<void*>& results) const {
  std::vector<int64_t> table;
  for (const KernelArgument& argument : launch.arguments) {
    using Kind = KernelArgument::Kind;
    auto index = static_cast<size_t>(argument.value);
    table.push_back(argument.kind == Kind::kInteger ? argument.value
                    : argument.kind == Kind::kOperand
                        ? reinterpret_cast<int64_t>(operands.at(index))
                        : reinterpret_cast<int64_t>(results.at(index)));
  }
  auto* arguments = reinterpret_cast<void* const*>(table.data());
  for (int64_t block = 0; block < launch.grid[0]; ++block) {
    runBlock(launch.block[0], [&](int64_t thread) { function_(arguments, block, thread); });
  }
}

}  // namespace graphrun::devices::cuda
