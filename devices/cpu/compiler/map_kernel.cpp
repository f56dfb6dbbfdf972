#include "devices/cpu/compiler/map_kernel.h"

#include "devices/cpu/compiler/scalar_emitter.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::cpu {
namespace {

using Index = llvm::SmallVector<mlir::AffineExpr, 6>;  // one expression a dim of a value

mlir::RankedTensorType tensorOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

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

/// A region argument stands for the group's operand; constants are looked up through it.
mlir::Value outside(mlir::Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  auto group = argument ? llvm::dyn_cast<ir::GroupOp>(argument.getOwner()->getParentOp()) : nullptr;
  return group ? group.getInputs()[argument.getArgNumber()] : value;
}

/// The constant's one value when it is a scalar or splat; such constants become immediates.
std::optional<double> splatValue(mlir::Value value) {
  auto constant = outside(value).getDefiningOp<ir::ConstantOp>();
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

/// Index of an operand that broadcasts to the result whose index is `index`.
Index broadcastIndex(llvm::ArrayRef<mlir::AffineExpr> index, llvm::ArrayRef<int64_t> shape,
                     mlir::MLIRContext* context) {
  Index operand(index.take_back(shape.size()));
  for (auto [expr, dim] : llvm::zip(operand, shape)) {
    expr = dim == 1 ? mlir::getAffineConstantExpr(0, context) : expr;
  }
  return operand;
}

/// Index in `to` when it has the dims of `from` but for some of 1; nothing when it has others.
std::optional<Index> sameDimsIndex(llvm::ArrayRef<mlir::AffineExpr> index,
                                   llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                                   mlir::MLIRContext* context) {
  Index result(to.size(), mlir::getAffineConstantExpr(0, context));
  size_t at = 0;
  for (auto [expr, dim] : llvm::zip(result, to)) {
    while (dim != 1 && at < from.size() && from[at] == 1) {
      ++at;
    }
    if (dim != 1 && (at == from.size() || from[at] != dim)) {
      return std::nullopt;
    }
    expr = dim == 1 ? expr : index[at++];
  }
  return result;
}

/// Row-major index in `to` of the element with index `index` in `from` (as many elements).
Index reshapeIndex(llvm::ArrayRef<mlir::AffineExpr> index, llvm::ArrayRef<int64_t> from,
                   llvm::ArrayRef<int64_t> to, mlir::MLIRContext* context) {
  if (std::optional<Index> same = sameDimsIndex(index, from, to, context)) {
    return *same;
  }
  mlir::AffineExpr place = mlir::getAffineConstantExpr(0, context);
  for (auto [expr, dim] : llvm::zip(index, from)) {
    place = place * dim + expr;
  }
  Index result(to.size(), place);
  for (size_t i = to.size(); i-- > 0;) {
    result[i] = i == 0 ? place : place % to[i];
    place = place.floorDiv(to[i]);
  }
  return result;
}

/// Starts and steps of a slice by dim, when its operands are constant.
std::optional<std::pair<llvm::SmallVector<int64_t>, llvm::SmallVector<int64_t>>> sliceRanges(
    ir::SliceOp op) {
  auto starts = ir::constantInts(outside(op.getStarts()));
  auto axes = ir::constantInts(outside(op.getAxes()));
  auto steps = ir::constantInts(outside(op.getSteps()));
  if (!starts || !axes || !steps) {
    return std::nullopt;
  }
  llvm::ArrayRef<int64_t> shape = tensorOf(op.getInput()).getShape();
  llvm::SmallVector<int64_t> first(shape.size(), 0), stride(shape.size(), 1);
  for (auto [start, axis, step] : llvm::zip(*starts, *axes, *steps)) {
    int64_t dim = axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis;
    int64_t from = start < 0 ? start + shape[dim] : start;
    first[dim] = std::clamp<int64_t>(from, 0, step > 0 ? shape[dim] : shape[dim] - 1);
    stride[dim] = step;
  }
  return std::make_pair(first, stride);
}

/// Indices of the operands of `op` for the element `index` of its result; nothing for an operation
/// that is not a map.
std::optional<llvm::SmallVector<Index>> operandIndices(mlir::Operation* op,
                                                       llvm::ArrayRef<mlir::AffineExpr> index) {
  mlir::MLIRContext* context = op->getContext();
  using Result = std::optional<llvm::SmallVector<Index>>;
  auto reshape = [&](mlir::Value input) -> Result {
    llvm::SmallVector<Index> indices(op->getNumOperands());
    indices[0] = reshapeIndex(index, tensorOf(op->getResult(0)).getShape(),
                              tensorOf(input).getShape(), context);
    return indices;
  };
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([&](ir::TransposeOp transpose) -> Result {
        Index operand(index.size());
        for (auto [i, from] : llvm::enumerate(transpose.getPermutation())) {
          operand[from] = index[i];
        }
        return llvm::SmallVector<Index>{operand};
      })
      .Case([&](ir::ExpandOp expand) -> Result {
        return llvm::SmallVector<Index>{
            broadcastIndex(index, tensorOf(expand.getInput()).getShape(), context), Index()};
      })
      .Case<ir::ReshapeOp, ir::SqueezeOp, ir::UnsqueezeOp>(
          [&](auto movement) { return reshape(movement.getInput()); })
      .Case([&](ir::SliceOp slice) -> Result {
        auto ranges = sliceRanges(slice);
        if (!ranges) {
          return std::nullopt;
        }
        llvm::SmallVector<Index> indices(op->getNumOperands());
        for (auto [expr, first, step] : llvm::zip(index, ranges->first, ranges->second)) {
          indices[0].push_back(expr * step + first);
        }
        return indices;
      })
      .Default([&](mlir::Operation*) -> Result {
        if (!canEmit(op)) {
          return std::nullopt;
        }
        llvm::SmallVector<Index> indices;
        for (mlir::Value operand : op->getOperands()) {
          indices.push_back(broadcastIndex(index, tensorOf(operand).getShape(), context));
        }
        return indices;
      });
}

bool isMovement(mlir::Operation* op) { return !op->hasTrait<ir::IsElementwise>(); }

/// The loops of a kernel: physical dims of the result, merged where every access allows it.
class MapKernelBuilder {
 public:
  MapKernelBuilder(mlir::ModuleOp module, mlir::Operation* op,
                   llvm::ArrayRef<KernelLayout> operandLayouts, KernelLayout resultLayout,
                   int64_t vectorBits)
      : op_(op),
        operandLayouts_(operandLayouts),
        resultLayout_(resultLayout),
        lanes_(vectorBits / 32),
        builder_(module.getContext()),
        loc_(op->getLoc()) {
    builder_.setInsertionPointToEnd(module.getBody());
  }

  GeneratedKernel build(const std::string& symbol) {
    planLoops();
    planValues();
    mergeLoops();
    planSizes();
    emitFunction(symbol);
    emitEntry(symbol);
    return {symbol, extent(), std::max<int64_t>(1, kGrainElements / inner()), sizes_};
  }

 private:
  static constexpr int64_t kGrainElements = 16384;  // some microseconds of work
  static constexpr int64_t kParallel = 64;          // iterations that keep all threads busy
  static constexpr int64_t kNarrower = 4;           // from one width of vectors to the next
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
      logical_[1] = dim(1) * resultLayout_.block + dim(shape.size());
    } else if (resultLayout_.order == KernelLayout::Order::kChannelsLast) {
      std::rotate(loops_.begin() + 1, loops_.begin() + 2, loops_.end());
      logical_[1] = dim(shape.size() - 1);
      for (size_t i = 2; i < shape.size(); ++i) {
        logical_[i] = dim(i - 1);
      }
    }
    indexDims_ = loops_.size();
    channel_ = padded_ ? logical_[1] : mlir::AffineExpr();
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
      assert(layout == resultLayout_ && physical[channel] == logical_[1]);
      if (layout.order == KernelLayout::Order::kChannelBlocks) {
        dims[channel] = llvm::divideCeilSigned(dims[channel], layout.block);
        dims.push_back(layout.block);
        physical[channel] = dim(1);
        physical.push_back(dim(indexDims_ - 1));
      } else {
        std::rotate(dims.begin() + channel, dims.begin() + channel + 1, dims.end());
        std::rotate(physical.begin() + channel, physical.begin() + channel + 1, physical.end());
      }
    }
    mlir::AffineExpr place = builder_.getAffineConstantExpr(0);
    for (auto [expr, size] : llvm::zip(physical, dims)) {
      place = place * size + expr;
    }
    return mlir::simplifyAffineExpr(place, loops_.size(), 0);
  }

  void need(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index) {
    needed_[value].insert({keyOf(index), Index(index)});
  }

  /// Which values are needed at which indices (last operation first), and the accesses they end in.
  void planValues() {
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
  }

  llvm::SmallVector<mlir::Value> inputs() {
    if (auto group = llvm::dyn_cast<ir::GroupOp>(op_)) {
      return llvm::to_vector(
          llvm::map_range(group.getBody().front().getArguments(),
                          [](mlir::BlockArgument a) -> mlir::Value { return a; }));
    }
    return llvm::to_vector(op_->getOperands());
  }

  /// Coefficient of each loop in a place; nothing when the place is not linear.
  std::optional<llvm::SmallVector<int64_t>> coefficients(mlir::AffineExpr place) {
    llvm::SmallVector<int64_t> flat;
    mlir::AffineExpr simplified = mlir::simplifyAffineExpr(place, loops_.size(), 0);
    if (!simplified.isPureAffine() || hasDivision(simplified) ||
        mlir::failed(mlir::getFlattenedAffineExpr(simplified, loops_.size(), 0, &flat))) {
      return std::nullopt;
    }
    flat.pop_back();  // the constant
    return flat;
  }

  static bool hasDivision(mlir::AffineExpr expr) {
    bool found = false;
    expr.walk([&](mlir::AffineExpr part) {
      found |= part.getKind() == mlir::AffineExprKind::FloorDiv ||
               part.getKind() == mlir::AffineExprKind::CeilDiv ||
               part.getKind() == mlir::AffineExprKind::Mod;
    });
    return found;
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
      auto flat = coefficients(*place);
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
    auto rebuild = [&](mlir::AffineExpr& place, llvm::ArrayRef<int64_t> list) {
      mlir::AffineExpr expr = builder_.getAffineConstantExpr(constantOf(place));
      for (auto [i, coefficient] : llvm::enumerate(llvm::reverse(list))) {
        expr = expr + dim(i) * coefficient;
      }
      place = expr;
    };
    for (auto [place, list] : llvm::zip(places, merged)) {
      rebuild(*place, list);
    }
    loops_.assign(sizes.rbegin(), sizes.rend());
  }

  int64_t constantOf(mlir::AffineExpr place) {
    llvm::SmallVector<mlir::AffineExpr> zeros(16, builder_.getAffineConstantExpr(0));
    auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(
        mlir::simplifyAffineExpr(place.replaceDims(zeros), 0, 0));
    return constant ? constant.getValue() : 0;
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

  bool vectorizable() {
    auto unitOrZero = [&](mlir::AffineExpr place) {
      auto flat = coefficients(place);
      return flat && (flat->back() == 0 || flat->back() == 1);
    };
    auto store = coefficients(store_);
    return loops_.back() > 1 && store && store->back() == 1 &&
           llvm::all_of(accesses_, [&](auto& entry) { return unitOrZero(entry.second.place); });
  }

  /// The innermost loop: whole vectors, then narrower ones, then single elements.
  void emitInnermost(llvm::ArrayRef<mlir::Value> outer, mlir::Value begin, mlir::Value end) {
    for (int64_t lanes = vectorizable() ? lanes_ : 1; lanes > 1; lanes /= kNarrower) {
      mlir::AffineExpr whole = dim(0) + (dim(1) - dim(0)).floorDiv(lanes) * lanes;
      mlir::Value split = apply(whole, {begin, end});
      emitLoop(outer, begin, split, lanes);
      begin = split;
    }
    emitLoop(outer, begin, end, 1);
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

  mlir::Value emitLoad(const Access& access, mlir::ValueRange indices, int64_t lanes) {
    mlir::Type memory = memoryType(access.element);
    bool uniform = lanes > 1 && coefficients(access.place)->back() == 0;
    int64_t width = uniform ? 1 : lanes;
    mlir::Value address = addressOf(access.argument, memory, access.place, indices);
    unsigned alignment = std::max(1U, memory.getIntOrFloatBitWidth() / 8);
    mlir::Value value =
        builder_.create<mlir::LLVM::LoadOp>(loc_, laneType(memory, width), address, alignment);
    mlir::Type compute = computeType(access.element);
    if (access.element.isInteger(1)) {
      value = builder_.create<mlir::arith::TruncIOp>(loc_, laneType(compute, width), value);
    } else if (memory != compute) {
      value = builder_.create<mlir::arith::ExtFOp>(loc_, laneType(compute, width), value);
    }
    if (uniform) {
      auto type = llvm::cast<mlir::VectorType>(laneType(compute, lanes));
      value = builder_.create<mlir::vector::BroadcastOp>(loc_, type, value);
    }
    return value;
  }

  void emitStore(unsigned argument, mlir::Value value, mlir::Type element, mlir::ValueRange indices,
                 int64_t lanes) {
    mlir::Type memory = memoryType(element);
    if (element.isInteger(1)) {
      value = builder_.create<mlir::arith::ExtUIOp>(loc_, laneType(memory, lanes), value);
    } else if (memory != computeType(element)) {
      value = builder_.create<mlir::arith::TruncFOp>(loc_, laneType(memory, lanes), value);
    }
    mlir::Value address = addressOf(argument, memory, store_, indices);
    unsigned alignment = std::max(1U, memory.getIntOrFloatBitWidth() / 8);
    builder_.create<mlir::LLVM::StoreOp>(loc_, value, address, alignment);
  }

  void emitBody(mlir::ValueRange indices, int64_t lanes) {
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
    unsigned argument = inputs().size();
    for (mlir::Value result : resultsOf(op_)) {
      mlir::Value value = values[{result, resultKey()}];
      emitStore(argument++, padded_ ? zeroPadding(value, indices, lanes) : value,
                tensorOf(result).getElementType(), indices, lanes);
    }
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
  mlir::AffineExpr channel_;  // of the result's element, where `padded_`
  unsigned indexDims_ = 0;    // of indices: the loops before they were merged
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

}  // namespace

namespace {

/// A transposition that stands alone, of elements of 32 bits that follow each other no more.
bool movesLines(mlir::Operation* op) {
  auto transpose = llvm::dyn_cast<ir::TransposeOp>(op);
  if (!transpose || transpose.getPermutation().empty()) {
    return false;
  }
  mlir::RankedTensorType type = tensorOf(transpose.getInput());
  return type.getElementType().isIntOrFloat() && type.getElementTypeBitWidth() == 32 &&
         transpose.getPermutation().back() != type.getRank() - 1;
}

}  // namespace

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
  return MapKernelBuilder(module, op, operands, result, vectorBits).build(symbol);
}

}  // namespace graphrun::devices::cpu
