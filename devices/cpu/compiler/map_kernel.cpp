#include "devices/cpu/compiler/map_kernel.h"

#include "devices/codegen/kernel_sizes.h"
#include "devices/codegen/linear_offsets.h"
#include "devices/codegen/map_scalars.h"
#include "devices/codegen/memory_elements.h"
#include "devices/codegen/scalar_emitter.h"
#include "devices/cpu/compiler/strided_vectors.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace graphrun::devices::cpu {
namespace {

using codegen::coefficientsOf;
using codegen::emitConstant;
using codegen::fromMemory;
using codegen::MapAccess;
using codegen::memoryType;
using codegen::tensorOf;
using codegen::toMemory;

/// Emits the loops of a kernel.
class MapKernelBuilder {
 public:
  MapKernelBuilder(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operandLayouts,
                   KernelLayout resultLayout, int64_t vectorBits)
      : nest_(op, operandLayouts, resultLayout),
        scalars_(codegen::mapScalars(op)),
        channels_(channelsOf(op)),
        lanes_(vectorBits / 32),
        builder_(op->getContext()),
        loc_(op->getLoc()),
        loops_(nest_.loops()) {
    planRun();
  }

  /// All that the kernel reads and writes lies evenly, at most a few elements apart.
  bool vectorizable() {
    auto isNear = [&](mlir::AffineExpr offset) {
      std::optional<int64_t> stride = vectorStride(offset);
      return stride && (*stride == -1 || (*stride >= 0 && *stride <= kMostStride));
    };
    return loops_.back() > 1 && vectorStride(nest_.store()) == run_ &&
           llvm::all_of(nest_.accesses(), [&](auto& entry) { return isNear(entry.second.offset); });
  }

  GeneratedKernel build(mlir::ModuleOp module, const std::string& symbol) {
    builder_.setInsertionPointToEnd(module.getBody());
    planSizes();
    emitFunction(symbol);
    emitEntry(symbol);
    std::vector<int64_t> sizes = sizes_.numbers();
    llvm::transform(scalars_, std::back_inserter(sizes), codegen::scalarBits);
    return {symbol, extent(), std::max<int64_t>(1, kGrainElements / (inner() * run_)), sizes};
  }

 private:
  static constexpr int64_t kGrainElements = 16384;  // some microseconds of work
  static constexpr int64_t kParallel = 64;          // iterations that keep all threads busy
  static constexpr int64_t kNarrower = 4;           // from one width of vectors to the next
  static constexpr int64_t kMostStride = 8;         // from which on single elements are faster

  /// Channels of the result, where it has such a dim.
  static int64_t channelsOf(mlir::Operation* op) {
    auto type = tensorOf(op->getResult(0));
    return type.getRank() > 1 ? type.getDimSize(1) : 1;
  }

  mlir::AffineExpr dim(unsigned i) { return builder_.getAffineDimExpr(i); }

  /// Plans the last loop where it is short, and its elements lie next to each other: it is done for
  /// a vector of the loop before at a time, with elements that are repeated, or come from several
  /// offsets in turns.
  void planRun() {
    int64_t run = loops_.back();
    if (nest_.channel() || loops_.size() < 2 || run < 2 || run > kMostStride || run >= lanes_ ||
        loops_[loops_.size() - 2] < kNarrower) {
      return;
    }
    bool follows = vectorStride(nest_.store()) == 1;
    loops_.pop_back();
    run_ = run;
    if (!follows || !vectorizable()) {
      run_ = 1;
      loops_.push_back(run);
    }
  }

  /// Loops, and the run inside them.
  size_t dimCount() const { return loops_.size() + (run_ > 1 ? 1 : 0); }

  /// From one iteration of the innermost loop to the next; nothing where that differs.
  std::optional<int64_t> vectorStride(mlir::AffineExpr offset) const {
    auto flat = coefficientsOf(offset, dimCount());
    return flat ? std::optional<int64_t>((*flat)[loops_.size() - 1]) : std::nullopt;
  }

  /// Leading loops that the parallel range runs over; at least the innermost loop stays inside
  /// unless it is the only one.
  unsigned parallelLoops() const {
    unsigned count = 1;
    int64_t iterations = loops_[0];
    while (count + 1 < loops_.size() && iterations < kParallel) {
      iterations *= loops_[count++];
    }
    return count;
  }

  int64_t extent() const {
    int64_t iterations = 1;
    for (unsigned i = 0; i < parallelLoops(); ++i) {
      iterations *= loops_[i];
    }
    return iterations;
  }

  int64_t inner() const {
    int64_t iterations = 1;
    for (size_t i = parallelLoops(); i < loops_.size(); ++i) {
      iterations *= loops_[i];
    }
    return iterations;
  }

  /// Collects the sizes that are not part of the code: of loops, and strides and offsets.
  void planSizes() {
    for (int64_t size : llvm::ArrayRef(loops_).drop_front()) {
      sizes_.add(size);
    }
    for (auto& [key, access] : nest_.accesses()) {
      sizes_.addOf(access.offset);
    }
    sizes_.addOf(nest_.store());
    if (nest_.channel()) {
      sizes_.addOf(nest_.channel());
    }
  }

  mlir::Value constantIndex(int64_t value) {
    return builder_.create<mlir::arith::ConstantIndexOp>(loc_, value);
  }

  /// A loop's size: a constant, or a parameter of the kernel.
  mlir::Value sizeOf(unsigned loop) { return sizes_.value(builder_, loc_, loops_[loop]); }

  mlir::Value apply(mlir::AffineExpr expr, mlir::ValueRange operands) {
    return sizes_.apply(builder_, loc_, expr, operands);
  }

  static mlir::Type scalarType(mlir::Value scalar) {
    return codegen::computeType(tensorOf(scalar).getElementType());
  }

  /// @symbol_body(pointers…, sizes…, begin, end, scalars…): the loops.
  void emitFunction(const std::string& symbol) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    auto pointer = mlir::LLVM::LLVMPointerType::get(builder_.getContext());
    size_t pointers = nest_.inputs().size() + nest_.results().size();
    size_t count = pointers + sizes_.numbers().size();
    llvm::SmallVector<mlir::Type> types(pointers, pointer);
    types.append(sizes_.numbers().size() + 2, builder_.getIndexType());
    llvm::transform(scalars_, std::back_inserter(types), scalarType);
    auto function = builder_.create<mlir::func::FuncOp>(loc_, symbol + "_body",
                                                        builder_.getFunctionType(types, {}));
    function.setPrivate();
    for (size_t i = 0; i < pointers; ++i) {
      function.setArgAttr(i, "llvm.noalias", builder_.getUnitAttr());
    }
    mlir::Block* block = function.addEntryBlock();
    builder_.setInsertionPointToStart(block);
    pointers_.assign(block->args_begin(), block->args_begin() + pointers);
    sizes_.setParameters(block->getArguments().slice(pointers, count - pointers));
    for (auto [i, scalar] : llvm::enumerate(scalars_)) {
      scalarValues_[scalar] = block->getArgument(count + 2 + i);
    }
    emitParallel(block->getArgument(count), block->getArgument(count + 1));
    builder_.setInsertionPointToEnd(block);
    builder_.create<mlir::func::ReturnOp>(loc_);
  }

  /// Iterations [begin, end) of the parallel loops.
  void emitParallel(mlir::Value begin, mlir::Value end) {
    if (loops_.size() == 1) {
      return emitInnermost({}, begin, end);
    }
    unsigned last = parallelLoops() - 1;
    if (last == 0) {
      return emitNest({startLoop(begin, end)});
    }
    // Only what is before the last of them is found by division.
    mlir::Value size = sizeOf(last);
    mlir::Value beyond = builder_.create<mlir::arith::AddIOp>(
        loc_, builder_.create<mlir::arith::SubIOp>(loc_, end, constantIndex(1)), size);
    mlir::Value line = startLoop(builder_.create<mlir::arith::DivUIOp>(loc_, begin, size),
                                 builder_.create<mlir::arith::DivUIOp>(loc_, beyond, size));
    llvm::SmallVector<mlir::Value> indices = splitParallel(line, last);
    mlir::Value first = builder_.create<mlir::arith::MulIOp>(loc_, line, size);
    mlir::Value from = builder_.create<mlir::arith::MaxSIOp>(
        loc_, builder_.create<mlir::arith::SubIOp>(loc_, begin, first), constantIndex(0));
    mlir::Value to = builder_.create<mlir::arith::MinSIOp>(
        loc_, builder_.create<mlir::arith::SubIOp>(loc_, end, first), size);
    indices.push_back(startLoop(from, to));
    emitNest(indices);
  }

  /// A loop's index; what is emitted next is its body.
  mlir::Value startLoop(mlir::Value begin, mlir::Value end) {
    auto loop = builder_.create<mlir::scf::ForOp>(loc_, begin, end, constantIndex(1));
    builder_.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  /// Indices of the first `count` parallel loops from the linear one.
  llvm::SmallVector<mlir::Value> splitParallel(mlir::Value linear, unsigned count) {
    llvm::SmallVector<mlir::Value> indices(count);
    for (unsigned i = count; i-- > 1;) {
      indices[i] = builder_.create<mlir::arith::RemUIOp>(loc_, linear, sizeOf(i));
      linear = builder_.create<mlir::arith::DivUIOp>(loc_, linear, sizeOf(i));
    }
    indices[0] = linear;
    return indices;
  }

  void emitNest(llvm::SmallVector<mlir::Value> indices) {
    while (indices.size() + 1 < loops_.size()) {
      indices.push_back(startLoop(constantIndex(0), sizeOf(indices.size())));
    }
    emitInnermost(indices, constantIndex(0), sizeOf(loops_.size() - 1));
  }

  /// The innermost loop: whole vectors, then narrower ones, then single elements.
  void emitInnermost(llvm::ArrayRef<mlir::Value> outer, mlir::Value begin, mlir::Value end) {
    if (copiesRuns()) {
      return emitCopy(outer, begin, end);
    }
    for (int64_t lanes = vectorizable() ? lanes_ : 1; lanes > 1; lanes /= kNarrower) {
      mlir::AffineExpr whole = dim(0) + (dim(1) - dim(0)).floorDiv(lanes) * lanes;
      mlir::Value split = apply(whole, {begin, end});
      emitLoop(outer, begin, split, lanes);
      begin = split;
    }
    emitLoop(outer, begin, end, 1);
  }

  /// The innermost loop moves bytes from one address to another, many of them.
  bool copiesRuns() {
    constexpr int64_t kLeastBits = int64_t{2048} * 8;
    if (!nest_.moves() || run_ != 1 || nest_.accesses().size() != 1 ||
        nest_.results().size() != 1) {
      return false;
    }
    const MapAccess& access = nest_.accesses().front().second;
    return vectorStride(nest_.store()) == 1 && vectorStride(access.offset) == 1 &&
           loops_.back() * memoryType(access.element).getIntOrFloatBitWidth() >= kLeastBits;
  }

  void emitCopy(llvm::ArrayRef<mlir::Value> outer, mlir::Value begin, mlir::Value end) {
    const MapAccess& access = nest_.accesses().front().second;
    mlir::Type memory = memoryType(access.element);
    llvm::SmallVector<mlir::Value> indices(outer);
    indices.push_back(begin);
    mlir::Value from = addressOf(access.argument, memory, access.offset, indices);
    mlir::Value to = addressOf(nest_.inputs().size(), memory, nest_.store(), indices);
    mlir::Value bytes = builder_.create<mlir::arith::MulIOp>(
        loc_, builder_.create<mlir::arith::SubIOp>(loc_, end, begin),
        constantIndex(memory.getIntOrFloatBitWidth() / 8));
    bytes = builder_.create<mlir::arith::IndexCastOp>(loc_, builder_.getI64Type(), bytes);
    builder_.create<mlir::LLVM::CallOp>(loc_, memmove(), mlir::ValueRange{to, from, bytes});
  }

  /// Not memcpy, nor an intrinsic that becomes it: to code that names no version, the C library
  /// gives one of 1999, which knows no vectors.
  mlir::LLVM::LLVMFuncOp memmove() {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    auto module = builder_.getBlock()->getParentOp()->getParentOfType<mlir::ModuleOp>();
    if (auto found = module.lookupSymbol<mlir::LLVM::LLVMFuncOp>("memmove")) {
      return found;
    }
    auto pointer = mlir::LLVM::LLVMPointerType::get(builder_.getContext());
    auto type =
        mlir::LLVM::LLVMFunctionType::get(pointer, {pointer, pointer, builder_.getI64Type()});
    builder_.setInsertionPointToStart(module.getBody());
    auto function = builder_.create<mlir::LLVM::LLVMFuncOp>(loc_, "memmove", type);
    function.setPassthroughAttr(builder_.getStrArrayAttr({"nobuiltin"}));
    return function;
  }

  void emitLoop(llvm::ArrayRef<mlir::Value> outer, mlir::Value begin, mlir::Value end,
                int64_t lanes) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    auto loop = builder_.create<mlir::scf::ForOp>(loc_, begin, end, constantIndex(lanes));
    builder_.setInsertionPointToStart(loop.getBody());
    llvm::SmallVector<mlir::Value> indices(outer);
    indices.push_back(loop.getInductionVar());
    emitBody(indices, lanes);
  }

  mlir::Value addressOf(unsigned argument, mlir::Type memory, mlir::AffineExpr offset,
                        mlir::ValueRange indices) {
    mlir::Value index = apply(offset, indices);
    mlir::Value wide =
        builder_.create<mlir::arith::IndexCastOp>(loc_, builder_.getI64Type(), index);
    return builder_.create<mlir::LLVM::GEPOp>(loc_, pointers_[argument].getType(), memory,
                                              pointers_[argument],
                                              llvm::ArrayRef<mlir::LLVM::GEPArg>{wide});
  }

  mlir::Value emitLoad(const MapAccess& access, mlir::ValueRange indices, int64_t lanes) {
    mlir::Type memory = memoryType(access.element);
    int64_t stride = lanes > 1 ? *vectorStride(access.offset) : 0;
    mlir::Value address = addressOf(access.argument, memory, access.offset, indices);
    mlir::Value value = StridedVectors(builder_, loc_, memory, lanes).load(address, stride);
    mlir::Type compute = nest_.valueType(access.element);
    value = fromMemory(builder_, loc_, value, compute);
    if (stride == 0 && lanes > 1) {
      auto type = llvm::cast<mlir::VectorType>(codegen::laneType(compute, lanes));
      value = builder_.create<mlir::vector::BroadcastOp>(loc_, type, value);
    }
    return value;
  }

  /// Stores the values of a run, one after the other, for each lane.
  void emitStore(unsigned argument, llvm::MutableArrayRef<mlir::Value> values, mlir::Type element,
                 mlir::ValueRange indices, int64_t lanes) {
    mlir::Type memory = memoryType(element);
    for (mlir::Value& value : values) {
      value = toMemory(builder_, loc_, value, memory);
    }
    mlir::Value address = addressOf(argument, memory, nest_.store(), indices);
    StridedVectors(builder_, loc_, memory, lanes).storeInTurns(address, values);
  }

  void emitBody(mlir::ValueRange indices, int64_t lanes) {
    llvm::SmallVector<mlir::Value> results = nest_.results();
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> runs(results.size());
    llvm::SmallVector<mlir::Value> first;
    for (int64_t i = 0; i < run_; ++i) {
      llvm::SmallVector<mlir::Value> all(indices);
      if (run_ > 1) {
        all.push_back(constantIndex(i));
      }
      first = i == 0 ? all : first;
      for (auto [run, value] : llvm::zip(runs, emitValues(all, lanes))) {
        run.push_back(nest_.channel() ? zeroPadding(value, all, lanes) : value);
      }
    }
    for (auto [i, run] : llvm::enumerate(runs)) {
      emitStore(nest_.inputs().size() + i, run, tensorOf(results[i]).getElementType(), first,
                lanes);
    }
  }

  /// The results' values for one iteration, or a vector of them.
  llvm::SmallVector<mlir::Value> emitValues(mlir::ValueRange indices, int64_t lanes) {
    return nest_.emit(
        builder_, loc_, lanes,
        [&](const MapAccess& access) { return emitLoad(access, indices, lanes); }, nullptr,
        &scalarValues_);
  }

  /// Zero for the lanes beyond the last channel: kernels that read whole blocks rely on it.
  mlir::Value zeroPadding(mlir::Value value, mlir::ValueRange indices, int64_t lanes) {
    mlir::Type i64 = builder_.getI64Type();
    mlir::Value channel =
        builder_.create<mlir::arith::IndexCastOp>(loc_, i64, apply(nest_.channel(), indices));
    mlir::Value channels =
        builder_.create<mlir::arith::ConstantOp>(loc_, builder_.getI64IntegerAttr(channels_));
    if (lanes > 1) {
      auto type = mlir::VectorType::get({lanes}, i64);
      auto steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
      mlir::Value offsets = builder_.create<mlir::arith::ConstantOp>(
          loc_, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<int64_t>(steps)));
      channel = builder_.create<mlir::vector::BroadcastOp>(loc_, type, channel);
      channel = builder_.create<mlir::arith::AddIOp>(loc_, channel, offsets);
      channels = builder_.create<mlir::vector::BroadcastOp>(loc_, type, channels);
    }
    mlir::Value inside = builder_.create<mlir::arith::CmpIOp>(loc_, mlir::arith::CmpIPredicate::slt,
                                                              channel, channels);
    mlir::Value zero = emitConstant(builder_, loc_, value.getType(), 0);
    return builder_.create<mlir::arith::SelectOp>(loc_, inside, value, zero);
  }

  /// @symbol(pointer to pointers, begin, end): unpacks the arguments.
  void emitEntry(const std::string& symbol) {
    auto pointer = mlir::LLVM::LLVMPointerType::get(builder_.getContext());
    mlir::Type i64 = builder_.getI64Type();
    auto entry = builder_.create<mlir::func::FuncOp>(
        loc_, symbol, builder_.getFunctionType({pointer, i64, i64}, {}));
    mlir::Block* block = entry.addEntryBlock();
    builder_.setInsertionPointToStart(block);
    auto element = [&](mlir::Type type, mlir::Value table, size_t i) -> mlir::Value {
      mlir::Value slot = builder_.create<mlir::LLVM::GEPOp>(
          loc_, pointer, type, table, llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(i)});
      return builder_.create<mlir::LLVM::LoadOp>(loc_, type, slot);
    };
    auto toIndex = [&](mlir::Value number) -> mlir::Value {
      return builder_.create<mlir::arith::IndexCastOp>(loc_, builder_.getIndexType(), number);
    };
    llvm::SmallVector<mlir::Value> arguments;
    for (size_t i = 0; i < pointers_.size(); ++i) {
      arguments.push_back(element(pointer, block->getArgument(0), i));
    }
    const size_t count = sizes_.numbers().size();
    mlir::Value sizes = count + scalars_.size() == 0
                            ? mlir::Value()
                            : element(pointer, block->getArgument(0), pointers_.size());
    for (size_t i = 0; i < count; ++i) {
      arguments.push_back(toIndex(element(i64, sizes, i)));
    }
    arguments.push_back(toIndex(block->getArgument(1)));
    arguments.push_back(toIndex(block->getArgument(2)));
    for (auto [i, scalar] : llvm::enumerate(scalars_)) {
      mlir::Value bits = element(i64, sizes, count + i);
      arguments.push_back(codegen::emitScalarOf(builder_, loc_, bits, scalarType(scalar)));
    }
    builder_.create<mlir::func::CallOp>(loc_, symbol + "_body", mlir::TypeRange(), arguments);
    builder_.create<mlir::func::ReturnOp>(loc_);
  }

  codegen::MapNest nest_;
  llvm::SmallVector<mlir::Value> scalars_;
  int64_t channels_;
  int64_t lanes_;
  mlir::OpBuilder builder_;
  mlir::Location loc_;
  llvm::SmallVector<int64_t> loops_;
  int64_t run_ = 1;  // iterations of a last loop that is done for vectors at a time
  codegen::KernelSizes sizes_;
  llvm::SmallVector<mlir::Value> pointers_;
  codegen::MapNest::Scalars scalarValues_;
};

/// Stops at a division that reference kernels do: of integers, which they check, or its rest.
mlir::WalkResult isReported(mlir::Operation* op) {
  bool divides = llvm::isa<ir::DivOp>(op) &&
                 !llvm::isa<mlir::FloatType>(tensorOf(op->getOperand(0)).getElementType());
  return divides || llvm::isa<ir::ModOp>(op) ? mlir::WalkResult::interrupt()
                                             : mlir::WalkResult::advance();
}

}  // namespace

bool isVectorMap(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands, KernelLayout result) {
  constexpr int64_t kWidest = 512;
  return MapKernelBuilder(op, operands, result, kWidest).vectorizable();
}

bool movesLines(mlir::Operation* op) {
  auto transpose = llvm::dyn_cast<ir::TransposeOp>(op);
  if (!transpose || transpose.getPermutation().empty()) {
    return false;
  }
  mlir::RankedTensorType type = tensorOf(transpose.getInput());
  return transpose.getPermutation().back() != type.getRank() - 1 && !isVectorMap(op, {{}}, {});
}

std::string whyNotMapKernel(mlir::Operation* op) {
  std::string why = codegen::whyNotMap(op);
  if (why.empty() && op->walk(isReported).wasInterrupted()) {
    return "a division by zero is to be reported";
  }
  if (why.empty() && codegen::movesByShapes(op)) {
    return "its movements are views, or transpositions by the library";
  }
  return why.empty() && movesLines(op) ? "the library transposes whole tiles" : why;
}

GeneratedKernel buildMapKernel(mlir::ModuleOp module, mlir::Operation* op,
                               llvm::ArrayRef<KernelLayout> operands, KernelLayout result,
                               int64_t vectorBits, const std::string& symbol) {
  return MapKernelBuilder(op, operands, result, vectorBits).build(module, symbol);
}

}  // namespace graphrun::devices::cpu
