#include "devices/cuda/compiler/emit/thread_code.h"

#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/ptx.h"
#include "llvm/ADT/BitVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::cuda {
namespace {

/// Bytes of a value, a scalar or a vector.
unsigned bytesOf(mlir::Type type) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(type);
  auto lanes = vector ? static_cast<unsigned>(vector.getNumElements()) : 1U;
  return mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8 * lanes;
}

bool countsIn32Bits(mlir::Operation* op, int64_t threads) {
  auto isSmall = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements() <= kMostIn32Bits;
  };
  return threads <= kMostIn32Bits && llvm::all_of(op->getOperands(), isSmall) &&
         llvm::all_of(op->getResults(), isSmall);
}

}  // namespace

void ThreadCode::begin(mlir::ModuleOp module, const std::string& symbol, int64_t blockThreads,
                       int64_t threads) {
  launch_.symbol = symbol;
  launch_.grid[0] = static_cast<uint32_t>(llvm::divideCeilSigned(threads, blockThreads));
  launch_.block[0] = static_cast<uint32_t>(blockThreads);
  module->setAttr(kIndexBitsAttr,
                  builder_.getI32IntegerAttr(countsIn32Bits(op_, threads) ? 32 : 64));
  size_t pointers = op_->getNumOperands() + tables_ + op_->getNumResults() + (usesScratch_ ? 1 : 0);
  llvm::SmallVector<mlir::Type> types(pointers,
                                      mlir::LLVM::LLVMPointerType::get(builder_.getContext()));
  types.append(sizes_.numbers().size() + (usesStep_ ? 1 : 0), builder_.getI64Type());
  types.push_back(mlir::LLVM::LLVMPointerType::get(builder_.getContext()));
  types.push_back(builder_.getI64Type());
  builder_.setInsertionPointToEnd(module.getBody());
  function_ =
      builder_.create<mlir::func::FuncOp>(loc_, symbol, builder_.getFunctionType(types, {}));
  function_->setAttr(kBlockThreadsAttr,
                     builder_.getI32IntegerAttr(static_cast<int32_t>(blockThreads)));
  for (size_t i = 0; i < pointers; ++i) {
    function_.setArgAttr(i, "llvm.noalias", builder_.getUnitAttr());
  }
  mlir::Block* body = function_.addEntryBlock();
  builder_.setInsertionPointToStart(body);
  pointers_.assign(body->args_begin(), body->args_begin() + pointers);
  llvm::SmallVector<mlir::Value> parameters;
  errors_ = body->getArgument(body->getNumArguments() - 2);
  errorBase_ = body->getArgument(body->getNumArguments() - 1);
  for (mlir::Value size : body->getArguments().drop_front(pointers).drop_back(2)) {
    parameters.push_back(make<mlir::arith::IndexCastOp>(builder_.getIndexType(), size));
  }
  if (usesStep_) {
    step_ = parameters.pop_back_val();
  }
  sizes_.setParameters(parameters);
}

KernelLaunch ThreadCode::end() {
  builder_.setInsertionPointToEnd(&function_.getBody().back());
  builder_.create<mlir::func::ReturnOp>(loc_);
  llvm::BitVector unused(function_.getNumArguments());
  for (auto [i, pointer] : llvm::enumerate(pointers_)) {
    if (pointer.use_empty()) {  // a shape, or a splat that is part of the code
      unused.set(static_cast<unsigned>(i));
    } else {
      launch_.arguments.push_back(argumentOf(i));
    }
  }
  bool reports = !errors_.use_empty();
  if (!reports) {
    unused.set(function_.getNumArguments() - 2, function_.getNumArguments());
  }
  function_.eraseArguments(unused);
  for (int64_t size : sizes_.numbers()) {
    launch_.arguments.push_back({KernelArgument::Kind::kInteger, size});
  }
  if (usesStep_) {
    launch_.arguments.push_back({KernelArgument::Kind::kInteger, 0});
  }
  if (reports) {
    launch_.arguments.push_back({KernelArgument::Kind::kErrors, 0});
    launch_.arguments.push_back({KernelArgument::Kind::kStep, 0});
  }
  return launch_;
}

KernelArgument ThreadCode::argumentOf(size_t pointer) const {
  using Kind = KernelArgument::Kind;
  size_t operands = op_->getNumOperands(), results = op_->getNumResults();
  auto from = [&](Kind kind, size_t first) {
    return KernelArgument{kind, static_cast<int64_t>(pointer - first)};
  };
  return pointer < operands                       ? from(Kind::kOperand, 0)
         : pointer < operands + tables_           ? from(Kind::kTable, operands)
         : pointer < operands + tables_ + results ? from(Kind::kResult, operands + tables_)
                                                  : KernelArgument{Kind::kScratch, 0};
}

void ThreadCode::complainIf(mlir::Value condition, KernelError error, Details details) {
  emitIf(condition, [&] {
    auto word = [&](int64_t value) { return make<mlir::arith::ConstantIntOp>(value, 32); };
    mlir::Value base = make<mlir::arith::TruncIOp>(builder_.getI32Type(), errorBase_);
    mlir::Value complaint = make<mlir::arith::AddIOp>(base, word(static_cast<int64_t>(error)));
    constexpr auto kRelaxed = mlir::LLVM::AtomicOrdering::monotonic;
    mlir::Value swapped =
        make<mlir::LLVM::AtomicCmpXchgOp>(errors_, word(0), complaint, kRelaxed, kRelaxed);
    if (details) {
      mlir::Value isFirst = make<mlir::LLVM::ExtractValueOp>(swapped, llvm::ArrayRef<int64_t>{1});
      emitIf(isFirst, [&] {
        for (auto [i, value] : llvm::enumerate(details())) {
          mlir::Value index = constant(kErrorDetails + static_cast<int64_t>(i));
          builder_.create<mlir::LLVM::StoreOp>(loc_, value,
                                               element(errors_, value.getType(), index));
        }
      });
    }
  });
}

mlir::Value ThreadCode::constant(int64_t value) {
  return make<mlir::arith::ConstantIndexOp>(value);
}

mlir::Value ThreadCode::threadOfBlock() {
  mlir::Value number = make<mlir::NVVM::ThreadIdXOp>(builder_.getI32Type());
  return make<mlir::arith::IndexCastUIOp>(builder_.getIndexType(), number);
}

mlir::Value ThreadCode::block() {
  mlir::Value number = make<mlir::NVVM::BlockIdXOp>(builder_.getI32Type());
  return make<mlir::arith::IndexCastUIOp>(builder_.getIndexType(), number);
}

mlir::Value ThreadCode::sharedArray(mlir::Type memory, int64_t count) {
  constexpr unsigned kSharedSpace = mlir::NVVM::NVVMMemorySpace::kSharedMemorySpace;
  std::string name = "shared" + std::to_string(shared_++);
  {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(function_->getParentOfType<mlir::ModuleOp>().getBody());
    builder_.create<mlir::LLVM::GlobalOp>(
        loc_, mlir::LLVM::LLVMArrayType::get(memory, static_cast<unsigned>(count)),
        /*isConstant=*/false, mlir::LLVM::Linkage::Internal, name, mlir::Attribute(),
        /*alignment=*/std::max<uint64_t>(8, bytesOf(memory)), kSharedSpace);
  }
  auto pointer = mlir::LLVM::LLVMPointerType::get(builder_.getContext(), kSharedSpace);
  return make<mlir::LLVM::AddressOfOp>(pointer, name);
}

void ThreadCode::barrier() { builder_.create<mlir::NVVM::Barrier0Op>(loc_); }

void ThreadCode::emitIf(mlir::Value condition, llvm::function_ref<void()> then,
                        llvm::function_ref<void()> otherwise) {
  auto branch = builder_.create<mlir::scf::IfOp>(loc_, condition, static_cast<bool>(otherwise));
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    builder_.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

mlir::Value ThreadCode::address(unsigned argument, mlir::Type memory, mlir::Value index) {
  bool isOperand = argument < op_->getNumOperands();
  return element(pointers_[isOperand ? argument : argument + tables_], memory, index);
}

mlir::Value ThreadCode::element(mlir::Value array, mlir::Type memory, mlir::Value index) {
  mlir::Value offset = make<mlir::arith::IndexCastUIOp>(builder_.getI64Type(), index);
  return make<mlir::LLVM::GEPOp>(array.getType(), memory, array,
                                 llvm::ArrayRef<mlir::LLVM::GEPArg>{offset});
}

mlir::Value ThreadCode::tableAddress(size_t table, mlir::Type memory, mlir::Value index) {
  return element(pointers_[op_->getNumOperands() + table], memory, index);
}

mlir::Value ThreadCode::scratchAddress(int64_t offset, mlir::Type memory, mlir::Value index) {
  mlir::Value first = pointers_.back();
  mlir::Value base = make<mlir::LLVM::GEPOp>(
      first.getType(), builder_.getI8Type(), first,
      llvm::ArrayRef<mlir::LLVM::GEPArg>{make<mlir::arith::ConstantIntOp>(offset, 64)});
  return element(base, memory, index);
}

mlir::Value ThreadCode::after(mlir::Value address, mlir::Type memory, int64_t count) {
  return make<mlir::LLVM::GEPOp>(address.getType(), memory, address,
                                 llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(count)});
}

mlir::Value ThreadCode::load(mlir::Value address, mlir::Type memory, int64_t lanes) {
  mlir::Type type = codegen::laneType(memory, lanes);
  return make<mlir::LLVM::LoadOp>(type, address, bytesOf(type));
}

void ThreadCode::store(mlir::Value value, mlir::Value address) {
  builder_.create<mlir::LLVM::StoreOp>(loc_, value, address, bytesOf(value.getType()));
}

}  // namespace graphrun::devices::cuda
