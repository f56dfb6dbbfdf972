#include "devices/cpu/compiler/map_kernel.h"

#include "devices/cpu/compiler/index_maps.h"
#include "devices/cpu/compiler/linear_places.h"
#include "devices/cpu/compiler/scalar_emitter.h"
#include "devices/cpu/compiler/strided_vectors.h"
#include "ir/dialect.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/weights.h"

namespace graphrun::devices::cpu {
namespace {

/// The operations of a group in order, or the single operation.
llvm::SmallVector<mlir::Operation*> bodyOf(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  if (!group) {
    return {op};
  }
  llvm::SmallVector<mlir::Operation*> body;
  for (mlir::Operation& inner : group.getBody().front().without_terminator()) {
    body.push_back(&inner);
  }
  return body;
}

llvm::SmallVector<mlir::Value> resultsOf(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  return group
             ? llvm::to_vector(group.getBody().front().getTerminator()->getOperands())
             : llvm::to_vector(llvm::map_range(op->getResults(), [](mlir::Value v) { return v; }));
}

/// The constant's one value when it is a scalar or splat; such constants become immediates.
std::optional<double> splatValue(mlir::Value value) {
  auto constant = passes::outsideGroup(value).getDefiningOp<ir::ConstantOp>();
  auto dense = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !dense.isSplat() || dense.getNumElements() == 0) {
    return std::nullopt;
  }
  if (llvm::isa<mlir::FloatType>(dense.getElementType())) {
    llvm::APFloat number = dense.getSplatValue<llvm::APFloat>();
    bool exact = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
    return number.convertToDouble();
  }
  llvm::APInt number = dense.getSplatValue<llvm::APInt>();
  bool exact = number.abs().getActiveBits() <= 53;  // else a double would round it
  return exact ? std::optional<double>(number.getBitWidth() == 1
                                           ? static_cast<double>(number.getZExtValue())
                                           : static_cast<double>(number.getSExtValue()))
               : std::nullopt;
}

/// The loops of a kernel: physical dims of the result, merged where every access allows it.
class MapKernelBuilder {
 public:
  MapKernelBuilder(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operandLayouts,
                   KernelLayout resultLayout, int64_t vectorBits)
      : op_(op),
        operandLayouts_(operandLayouts),
        resultLayout_(resultLayout),
        lanes_(vectorBits / 32),
        builder_(op->getContext()),
        loc_(op->getLoc()) {
    planLoops();
    planValues();
    while (splitLoop()) {
      planValues();
    }
    mergeLoops();
    planRun();
  }

  /// All that the kernel reads and writes lies evenly, at most a few elements apart.
  bool vectorizable() {
    auto isNear = [&](mlir::AffineExpr place) {
      std::optional<int64_t> stride = vectorStride(place);
      return stride && (*stride == -1 || (*stride >= 0 && *stride <= kMostStride));
    };
    return loops_.back() > 1 && vectorStride(store_) == run_ &&
           llvm::all_of(accesses_, [&](auto& entry) { return isNear(entry.second.place); });
  }

  GeneratedKernel build(mlir::ModuleOp module, const std::string& symbol) {
    builder_.setInsertionPointToEnd(module.getBody());
    planSizes();
    emitFunction(symbol);
    emitEntry(symbol);
    return {symbol, extent(), std::max<int64_t>(1, kGrainElements / (inner() * run_)), sizes_};
  }

 private:
  static constexpr int64_t kGrainElements = 16384;  // some microseconds of work
  static constexpr int64_t kParallel = 64;          // iterations that keep all threads busy
  static constexpr int64_t kNarrower = 4;           // from one width of vectors to the next
  static constexpr int64_t kMostStride = 8;         // from which on single elements are faster
  static constexpr size_t kMostLoops = 12;
  static constexpr int64_t kLargestImmediate =
      16;  // a block of channels: such sizes shape the code

  /// An access to memory: an operand or result, at an affine place.
  struct Access {
    unsigned argument;
    mlir::Type element;
    mlir::AffineExpr place;
  };
  using Key = std::pair<mlir::Value, mlir::Attribute>;  // a value at an index

  mlir::Attribute keyOf(llvm::ArrayRef<mlir::AffineExpr> index) {
    return mlir::AffineMapAttr::get(
        mlir::AffineMap::get(indexDims_, 0, index, builder_.getContext()));
  }

  mlir::AffineExpr dim(unsigned i) { return builder_.getAffineDimExpr(i); }

  /// Loops over the result as it lies in memory; `logical_` is the result's index by loop.
  void planLoops() {
    llvm::ArrayRef<int64_t> shape = tensorOf(resultsOf(op_)[0]).getShape();
    for (auto [i, size] : llvm::enumerate(shape)) {
      logical_.push_back(dim(i));
      loops_.push_back(size);
    }
    if (resultLayout_.order == KernelLayout::Order::kChannelBlocks) {
      padded_ = shape[1] % resultLayout_.block != 0;
      loops_[1] = llvm::divideCeilSigned(shape[1], resultLayout_.block);
      loops_.push_back(resultLayout_.block);
      block_ = dim(1);
      lane_ = dim(shape.size());
      logical_[1] = block_ * resultLayout_.block + lane_;
    } else if (resultLayout_.order == KernelLayout::Order::kChannelsLast) {
      std::rotate(loops_.begin() + 1, loops_.begin() + 2, loops_.end());
      logical_[1] = dim(shape.size() - 1);
      for (size_t i = 2; i < shape.size(); ++i) {
        logical_[i] = dim(i - 1);
      }
    }
    channel_ = padded_ ? logical_[1] : mlir::AffineExpr();
  }

  /// Makes two loops of one where that rids an access of a division; false when there is none.
  bool splitLoop() {
    std::optional<LoopSplit> split;
    for (auto& [key, access] : accesses_) {
      split = split ? split : splitFor(access.place, loops_);
    }
    if (!split || loops_.size() >= kMostLoops) {
      return false;
    }
    auto [loop, inner] = *split;
    llvm::SmallVector<mlir::AffineExpr> dims;
    for (unsigned i = 0; i < loops_.size(); ++i) {
      dims.push_back(i == loop ? dim(i) * inner + dim(i + 1) : dim(i < loop ? i : i + 1));
    }
    loops_[loop] /= inner;
    loops_.insert(loops_.begin() + loop + 1, inner);
    for (mlir::AffineExpr& expr : logical_) {
      expr = expr.replaceDims(dims);
    }
    for (mlir::AffineExpr* expr : {&block_, &lane_, &channel_}) {
      *expr = *expr ? expr->replaceDims(dims) : *expr;
    }
    return true;
  }

  /// Place in memory of the element `index` of a tensor. A blocked operand has the result's
  /// channels in the result's blocks, so that its blocks are walked by the result's loops.
  mlir::AffineExpr placeOf(mlir::RankedTensorType type, llvm::ArrayRef<mlir::AffineExpr> index,
                           KernelLayout layout) {
    llvm::SmallVector<mlir::AffineExpr> physical(index);
    llvm::SmallVector<int64_t> dims(type.getShape());
    if (!layout.isDense()) {
      // The operand's dim that is aligned with the result's channels.
      size_t channel = dims.size() + 1 - tensorOf(resultsOf(op_)[0]).getRank();
      if (layout.order == KernelLayout::Order::kChannelBlocks) {
        assert(layout == resultLayout_ && physical[channel] == logical_[1]);
        dims[channel] = llvm::divideCeilSigned(dims[channel], layout.block);
        dims.push_back(layout.block);
        physical[channel] = block_;
        physical.push_back(lane_);
      } else {
        std::rotate(dims.begin() + channel, dims.begin() + channel + 1, dims.end());
        std::rotate(physical.begin() + channel, physical.begin() + channel + 1, physical.end());
      }
    }
    mlir::AffineExpr place = builder_.getAffineConstantExpr(0);
    for (auto [expr, size] : llvm::zip(physical, dims)) {
      place = place * size + expr;
    }
    return withoutDivisions(mlir::simplifyAffineExpr(place, loops_.size(), 0), loops_);
  }

  void need(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index) {
    needed_[value].insert({keyOf(index), Index(index)});
  }

  /// Which values are needed at which indices (last operation first), and the accesses they end in.
  void planValues() {
    indexDims_ = loops_.size();
    needed_.clear();
    accesses_.clear();
    for (mlir::Value result : resultsOf(op_)) {
      need(result, logical_);
    }
    llvm::SmallVector<mlir::Operation*> body = bodyOf(op_);
    for (mlir::Operation* inner : llvm::reverse(body)) {
      for (auto& [key, index] : llvm::to_vector(needed_[inner->getResult(0)])) {
        if (llvm::isa<ir::ConstantOp>(inner)) {
          continue;
        }
        auto operands = operandIndices(inner, index);
        unsigned count = isMovement(inner) ? 1 : inner->getNumOperands();
        for (unsigned i = 0; i < count; ++i) {
          need(inner->getOperand(i), (*operands)[i]);
        }
      }
    }
    for (auto [i, operand] : llvm::enumerate(inputs())) {
      for (auto& [key, index] : needed_[operand]) {
        if (!splatValue(operand)) {
          auto type = tensorOf(operand);
          accesses_[{operand, key}] = {static_cast<unsigned>(i), type.getElementType(),
                                       placeOf(type, index, operandLayouts_[i])};
        }
      }
    }
    auto type = tensorOf(resultsOf(op_)[0]);
    store_ = placeOf(type, logical_, resultLayout_);
    moves_ = !padded_ && llvm::all_of(bodyOf(op_), isMovement) &&
             llvm::none_of(inputs(), [&](mlir::Value input) {
               return !needed_[input].empty() && splatValue(input);
             });
  }

  llvm::SmallVector<mlir::Value> inputs() {
    if (auto group = llvm::dyn_cast<ir::GroupOp>(op_)) {
      return llvm::to_vector(
          llvm::map_range(group.getBody().front().getArguments(),
                          [](mlir::BlockArgument a) -> mlir::Value { return a; }));
    }
    return llvm::to_vector(op_->getOperands());
  }

  /// Drops loops of one iteration and merges neighbours that every access walks as one.
  void mergeLoops() {
    llvm::SmallVector<mlir::AffineExpr*> places;
    for (auto& [key, access] : accesses_) {
      places.push_back(&access.place);
    }
    places.push_back(&store_);
    if (padded_) {
      places.push_back(&channel_);
    }
    llvm::SmallVector<llvm::SmallVector<int64_t>> all;
    for (mlir::AffineExpr* place : places) {
      auto flat = coefficientsOf(*place, loops_.size());
      if (!flat) {
        return;
      }
      all.push_back(*flat);
    }
    llvm::SmallVector<int64_t> sizes;
    // From the innermost loop outwards: a loop joins the one inside it where every access does.
    llvm::SmallVector<llvm::SmallVector<int64_t>> merged(all.size());
    for (size_t i = loops_.size(); i-- > 0;) {
      if (loops_[i] == 1) {
        continue;
      }
      bool joins = !sizes.empty() && llvm::all_of(llvm::zip(all, merged), [&](auto pair) {
        return std::get<0>(pair)[i] == std::get<1>(pair).back() * sizes.back();
      });
      if (joins) {
        sizes.back() *= loops_[i];
        continue;
      }
      sizes.push_back(loops_[i]);
      for (auto [flat, coefficientsOfMerged] : llvm::zip(all, merged)) {
        coefficientsOfMerged.push_back(flat[i]);
      }
    }
    if (sizes.empty()) {
      sizes.push_back(1);
      llvm::for_each(merged, [](auto& list) { list.push_back(0); });
    }
    auto rebuild = [&](mlir::AffineExpr& place, int64_t constant, llvm::ArrayRef<int64_t> list) {
      mlir::AffineExpr expr = builder_.getAffineConstantExpr(constant);
      for (auto [i, coefficient] : llvm::enumerate(llvm::reverse(list))) {
        expr = expr + dim(i) * coefficient;
      }
      place = expr;
    };
    for (auto [place, flat, list] : llvm::zip(places, all, merged)) {
      rebuild(*place, flat.back(), list);
    }
    loops_.assign(sizes.rbegin(), sizes.rend());
  }

  /// Where the last loop is short, and what it does lies next to each other, it is done for a
  /// vector of the loop before at a time: elements that are repeated, or come from several places
  /// in turns.
  void planRun() {
    int64_t run = loops_.back();
    if (padded_ || loops_.size() < 2 || run < 2 || run > kMostStride || run >= lanes_ ||
        loops_[loops_.size() - 2] < kNarrower) {
      return;
    }
    bool follows = vectorStride(store_) == 1;
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
  std::optional<int64_t> vectorStride(mlir::AffineExpr place) const {
    auto flat = coefficientsOf(place, dimCount());
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

  /// Collects the sizes that are not part of the code: of loops, and strides and offsets of places.
  void planSizes() {
    for (int64_t size : llvm::ArrayRef(loops_).drop_front()) {
      addSize(size);
    }
    for (auto& [key, access] : accesses_) {
      withSizes(access.place);
    }
    withSizes(store_);
  }

  static bool isImmediate(int64_t size) {
    return size <= kLargestImmediate && size >= -kLargestImmediate;
  }

  void addSize(int64_t size) {
    if (!isImmediate(size) && !llvm::is_contained(sizes_, size)) {
      sizes_.push_back(size);
    }
  }

  /// `expr` with symbols for large factors and summands, which it adds to the sizes. Divisors stay:
  /// to divide by a constant is cheap.
  mlir::AffineExpr withSizes(mlir::AffineExpr expr) {
    auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
    if (!binary || (binary.getKind() != mlir::AffineExprKind::Add &&
                    binary.getKind() != mlir::AffineExprKind::Mul)) {
      return expr;
    }
    mlir::AffineExpr left = withSizes(binary.getLHS());
    mlir::AffineExpr right = withSizes(binary.getRHS());
    if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(right);
        constant && !isImmediate(constant.getValue())) {
      addSize(constant.getValue());
      auto place = llvm::find(sizes_, constant.getValue());
      right = builder_.getAffineSymbolExpr(static_cast<unsigned>(place - sizes_.begin()));
    }
    return mlir::getAffineBinaryOpExpr(binary.getKind(), left, right);
  }

  mlir::Value constantIndex(int64_t value) {
    return builder_.create<mlir::arith::ConstantIndexOp>(loc_, value);
  }

  /// A loop's size: a constant, or a parameter of the kernel.
  mlir::Value sizeOf(unsigned loop) {
    auto found = llvm::find(sizes_, loops_[loop]);
    return isImmediate(loops_[loop]) ? constantIndex(loops_[loop])
                                     : sizeValues_[static_cast<size_t>(found - sizes_.begin())];
  }

  mlir::Value apply(mlir::AffineExpr expr, mlir::ValueRange operands) {
    llvm::SmallVector<mlir::Value> values(operands);
    values.append(sizeValues_);
    return builder_.create<mlir::affine::AffineApplyOp>(
        loc_, mlir::AffineMap::get(operands.size(), sizeValues_.size(), expr), values);
  }

  /// @symbol_body(pointers…, sizes…, begin, end): the loops.
  void emitFunction(const std::string& symbol) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    auto pointer = mlir::LLVM::LLVMPointerType::get(builder_.getContext());
    size_t pointers = inputs().size() + resultsOf(op_).size();
    size_t count = pointers + sizes_.size();
    llvm::SmallVector<mlir::Type> types(pointers, pointer);
    types.append(sizes_.size() + 2, builder_.getIndexType());
    auto function = builder_.create<mlir::func::FuncOp>(loc_, symbol + "_body",
                                                        builder_.getFunctionType(types, {}));
    function.setPrivate();
    for (size_t i = 0; i < pointers; ++i) {
      function.setArgAttr(i, "llvm.noalias", builder_.getUnitAttr());
    }
    mlir::Block* block = function.addEntryBlock();
    builder_.setInsertionPointToStart(block);
    pointers_.assign(block->args_begin(), block->args_begin() + pointers);
    sizeValues_.assign(block->args_begin() + pointers, block->args_begin() + count);
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

  /// The innermost loop moves bytes from one place to another, many of them.
  bool copiesRuns() {
    constexpr int64_t kLeastBits = int64_t{2048} * 8;
    return moves_ && run_ == 1 && accesses_.size() == 1 && resultsOf(op_).size() == 1 &&
           vectorStride(store_) == 1 && vectorStride(accesses_.front().second.place) == 1 &&
           loops_.back() * memoryType(accesses_.front().second.element).getIntOrFloatBitWidth() >=
               kLeastBits;
  }

  void emitCopy(llvm::ArrayRef<mlir::Value> outer, mlir::Value begin, mlir::Value end) {
    const Access& access = accesses_.front().second;
    mlir::Type memory = memoryType(access.element);
    llvm::SmallVector<mlir::Value> indices(outer);
    indices.push_back(begin);
    mlir::Value from = addressOf(access.argument, memory, access.place, indices);
    mlir::Value to = addressOf(inputs().size(), memory, store_, indices);
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

  mlir::Type laneType(mlir::Type element, int64_t lanes) {
    return lanes == 1 ? element : mlir::VectorType::get({lanes}, element);
  }

  /// Bool is one byte in memory; the other types are as wide as their elements.
  mlir::Type memoryType(mlir::Type element) {
    return element.isInteger(1) ? builder_.getI8Type()
           : llvm::isa<mlir::IntegerType>(element)
               ? mlir::Type(builder_.getIntegerType(element.getIntOrFloatBitWidth()))
               : element;
  }

  mlir::Value addressOf(unsigned argument, mlir::Type memory, mlir::AffineExpr place,
                        mlir::ValueRange indices) {
    mlir::Value index = apply(withSizes(place), indices);
    mlir::Value offset =
        builder_.create<mlir::arith::IndexCastOp>(loc_, builder_.getI64Type(), index);
    return builder_.create<mlir::LLVM::GEPOp>(loc_, pointers_[argument].getType(), memory,
                                              pointers_[argument],
                                              llvm::ArrayRef<mlir::LLVM::GEPArg>{offset});
  }

  /// What is only moved stays as it lies in memory.
  mlir::Type valueType(mlir::Type element) {
    return moves_ ? memoryType(element) : computeType(element);
  }

  mlir::Value emitLoad(const Access& access, mlir::ValueRange indices, int64_t lanes) {
    mlir::Type memory = memoryType(access.element);
    int64_t stride = lanes > 1 ? *vectorStride(access.place) : 0;
    int64_t width = stride == 0 ? 1 : lanes;
    mlir::Value address = addressOf(access.argument, memory, access.place, indices);
    mlir::Value value = StridedVectors(builder_, loc_, memory, lanes).load(address, stride);
    mlir::Type compute = valueType(access.element);
    if (compute.isInteger(1)) {
      value = builder_.create<mlir::arith::TruncIOp>(loc_, laneType(compute, width), value);
    } else if (memory != compute) {
      value = builder_.create<mlir::arith::ExtFOp>(loc_, laneType(compute, width), value);
    }
    if (width < lanes) {
      auto type = llvm::cast<mlir::VectorType>(laneType(compute, lanes));
      value = builder_.create<mlir::vector::BroadcastOp>(loc_, type, value);
    }
    return value;
  }

  /// Stores the values of a run, one after the other, for each lane.
  void emitStore(unsigned argument, llvm::MutableArrayRef<mlir::Value> values, mlir::Type element,
                 mlir::ValueRange indices, int64_t lanes) {
    mlir::Type memory = memoryType(element);
    for (mlir::Value& value : values) {
      if (valueType(element).isInteger(1)) {
        value = builder_.create<mlir::arith::ExtUIOp>(loc_, laneType(memory, lanes), value);
      } else if (memory != valueType(element)) {
        value = builder_.create<mlir::arith::TruncFOp>(loc_, laneType(memory, lanes), value);
      }
    }
    mlir::Value address = addressOf(argument, memory, store_, indices);
    StridedVectors(builder_, loc_, memory, lanes).storeInTurns(address, values);
  }

  void emitBody(mlir::ValueRange indices, int64_t lanes) {
    llvm::SmallVector<mlir::Value> results = resultsOf(op_);
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> runs(results.size());
    llvm::SmallVector<mlir::Value> first;
    for (int64_t i = 0; i < run_; ++i) {
      llvm::SmallVector<mlir::Value> all(indices);
      if (run_ > 1) {
        all.push_back(constantIndex(i));
      }
      first = i == 0 ? all : first;
      for (auto [run, value] : llvm::zip(runs, emitValues(all, lanes))) {
        run.push_back(padded_ ? zeroPadding(value, all, lanes) : value);
      }
    }
    for (auto [i, run] : llvm::enumerate(runs)) {
      emitStore(inputs().size() + i, run, tensorOf(results[i]).getElementType(), first, lanes);
    }
  }

  /// The results' values for one iteration, or a vector of them.
  llvm::SmallVector<mlir::Value> emitValues(mlir::ValueRange indices, int64_t lanes) {
    llvm::DenseMap<Key, mlir::Value> values;
    auto constant = [&](mlir::Value value, double number) {
      mlir::Type compute = computeType(tensorOf(value).getElementType());
      return emitConstant(builder_, loc_, laneType(compute, lanes), number);
    };
    for (mlir::Value input : inputs()) {
      for (auto& [key, index] : needed_[input]) {
        std::optional<double> splat = splatValue(input);
        values[{input, key}] =
            splat ? constant(input, *splat) : emitLoad(accesses_[{input, key}], indices, lanes);
      }
    }
    for (mlir::Operation* inner : bodyOf(op_)) {
      mlir::Value result = inner->getResult(0);
      for (auto& [key, index] : needed_[result]) {
        if (llvm::isa<ir::ConstantOp>(inner)) {
          values[{result, key}] = constant(result, *splatValue(result));
          continue;
        }
        auto operands = operandIndices(inner, index);
        if (isMovement(inner)) {
          values[{result, key}] = values[{inner->getOperand(0), keyOf((*operands)[0])}];
          continue;
        }
        llvm::SmallVector<mlir::Value> arguments;
        for (auto [operand, at] : llvm::zip(inner->getOperands(), *operands)) {
          arguments.push_back(values[{operand, keyOf(at)}]);
        }
        values[{result, key}] = emitScalar(builder_, loc_, inner, arguments);
      }
    }
    return llvm::to_vector(llvm::map_range(
        resultsOf(op_), [&](mlir::Value result) { return values[{result, resultKey()}]; }));
  }

  /// Zero for the lanes beyond the last channel: kernels that read whole blocks rely on it.
  mlir::Value zeroPadding(mlir::Value value, mlir::ValueRange indices, int64_t lanes) {
    mlir::Type i64 = builder_.getI64Type();
    mlir::Value channel =
        builder_.create<mlir::arith::IndexCastOp>(loc_, i64, apply(channel_, indices));
    mlir::Value channels = builder_.create<mlir::arith::ConstantOp>(
        loc_, builder_.getI64IntegerAttr(tensorOf(resultsOf(op_)[0]).getDimSize(1)));
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

  mlir::Attribute resultKey() { return needed_[resultsOf(op_)[0]].front().first; }

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
    if (!sizes_.empty()) {
      mlir::Value sizes = element(pointer, block->getArgument(0), pointers_.size());
      for (size_t i = 0; i < sizes_.size(); ++i) {
        arguments.push_back(toIndex(element(i64, sizes, i)));
      }
    }
    arguments.push_back(toIndex(block->getArgument(1)));
    arguments.push_back(toIndex(block->getArgument(2)));
    builder_.create<mlir::func::CallOp>(loc_, symbol + "_body", mlir::TypeRange(), arguments);
    builder_.create<mlir::func::ReturnOp>(loc_);
  }

  mlir::Operation* op_;
  llvm::ArrayRef<KernelLayout> operandLayouts_;
  KernelLayout resultLayout_;
  int64_t lanes_;
  mlir::OpBuilder builder_;
  mlir::Location loc_;
  llvm::SmallVector<int64_t> loops_;
  Index logical_;
  mlir::AffineExpr channel_;       // of the result's element, where `padded_`
  mlir::AffineExpr block_, lane_;  // of channels in blocks
  int64_t run_ = 1;                // iterations of a last loop that is done for vectors at a time
  unsigned indexDims_ = 0;         // of indices: the loops before they were merged
  bool moves_ = false;             // nothing is computed
  llvm::DenseMap<mlir::Value, llvm::MapVector<mlir::Attribute, Index>> needed_;
  llvm::MapVector<Key, Access> accesses_;
  mlir::AffineExpr store_;
  bool padded_ = false;         // the last channel block has elements beyond the channels
  std::vector<int64_t> sizes_;  // each once, in the order of the parameters
  llvm::SmallVector<mlir::Value> pointers_;
  llvm::SmallVector<mlir::Value> sizeValues_;
};

bool computes(mlir::Operation* op) {
  auto isComputed = [](mlir::Value value) {
    return ir::isComputed(tensorOf(value).getElementType());
  };
  return llvm::all_of(op->getOperands(), isComputed) && llvm::all_of(op->getResults(), isComputed);
}

/// A transposition that stands alone, of elements that follow each other no more, nor lie so near
/// to each other that vectors are made of vectors.
bool movesLines(mlir::Operation* op) {
  auto transpose = llvm::dyn_cast<ir::TransposeOp>(op);
  if (!transpose || transpose.getPermutation().empty()) {
    return false;
  }
  mlir::RankedTensorType type = tensorOf(transpose.getInput());
  return computes(op) && transpose.getPermutation().back() != type.getRank() - 1 &&
         !isVectorMap(op, {{}}, {});
}

}  // namespace

bool isVectorMap(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands, KernelLayout result) {
  constexpr int64_t kWidest = 512;
  return MapKernelBuilder(op, operands, result, kWidest).vectorizable();
}

std::string whyNotMapKernel(mlir::Operation* op) {
  llvm::SmallVector<mlir::Value> results = resultsOf(op);
  for (mlir::Value result : results) {
    if (!tensorOf(result).hasStaticShape() ||
        tensorOf(result).getShape() != tensorOf(results[0]).getShape()) {
      return "its results have different or unknown shapes";
    }
    if (tensorOf(result).getNumElements() == 0) {
      return "its results are empty";
    }
  }
  if (movesLines(op)) {
    return "the library transposes whole tiles";
  }
  for (mlir::Operation* inner : bodyOf(op)) {
    std::string name = inner->getName().getStringRef().str();
    if (llvm::isa<ir::ConstantOp>(inner)) {
      if (!splatValue(inner->getResult(0))) {
        return name + " inside it is not a splat";
      }
      continue;
    }
    if (inner->getNumResults() != 1) {
      return name + " has several results";
    }
    if (!computes(inner)) {
      return name + " has an element type that is not computed in";
    }
    Index index;
    for (int64_t i = 0; i < tensorOf(inner->getResult(0)).getRank(); ++i) {
      index.push_back(mlir::getAffineDimExpr(i, op->getContext()));
    }
    if (!operandIndices(inner, index)) {
      return name + " is not a map over its result";
    }
  }
  return "";
}

GeneratedKernel buildMapKernel(mlir::ModuleOp module, mlir::Operation* op,
                               llvm::ArrayRef<KernelLayout> operands, KernelLayout result,
                               int64_t vectorBits, const std::string& symbol) {
  return MapKernelBuilder(op, operands, result, vectorBits).build(module, symbol);
}

}  // namespace graphrun::devices::cpu
