#include "devices/codegen/map_nest.h"

#include "devices/codegen/linear_offsets.h"
#include "devices/codegen/map_scalars.h"
#include "devices/codegen/memory_elements.h"
#include "devices/codegen/scalar_emitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"
#include "passes/weights.h"

namespace graphrun::devices::codegen {
namespace {

constexpr size_t kMostLoops = 12;

llvm::SmallVector<mlir::Value> resultsOf(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  return group
             ? llvm::to_vector(group.getBody().front().getTerminator()->getOperands())
             : llvm::to_vector(llvm::map_range(op->getResults(), [](mlir::Value v) { return v; }));
}

/// Returns whether a kernel needs the elements of a group's constant: of a movement's operands it
/// needs the first alone, the others say where.
bool isRead(ir::ConstantOp constant) {
  return llvm::any_of(constant->getUses(), [](mlir::OpOperand& use) {
    bool moves = !llvm::isa<ir::YieldOp>(use.getOwner()) && isMovement(use.getOwner());
    return !moves || use.getOperandNumber() == 0;
  });
}

/// Indices of the operands of an operation that is a map.
llvm::SmallVector<Index> indicesOf(mlir::Operation* map, llvm::ArrayRef<mlir::AffineExpr> index) {
  return operandIndices(map, index).value_or(llvm::SmallVector<Index>());
}

bool computes(mlir::Operation* op) {
  auto isComputed = [](mlir::Value value) {
    return ir::isComputed(tensorOf(value).getElementType());
  };
  return llvm::all_of(op->getOperands(), isComputed) && llvm::all_of(op->getResults(), isComputed);
}

}  // namespace

std::string whyNotMap(mlir::Operation* op) {
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
  for (mlir::Operation* inner : mapBody(op)) {
    std::string name = inner->getName().getStringRef().str();
    if (auto constant = llvm::dyn_cast<ir::ConstantOp>(inner)) {
      if (isRead(constant) && !splatValue(constant.getResult())) {
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

bool movesByShapes(mlir::Operation* op) {
  return llvm::any_of(mapBody(op), [](mlir::Operation* inner) {
    auto constant = llvm::dyn_cast<ir::ConstantOp>(inner);
    return constant && !isRead(constant) && !splatValue(constant.getResult());
  });
}

MapNest::MapNest(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands, KernelLayout result)
    : op_(op), context_(op->getContext()), operandLayouts_(operands), resultLayout_(result) {
  planLoops();
  planValues();
  while (splitLoop()) {
    planValues();
  }
  mergeLoops();
}

mlir::Attribute MapNest::keyOf(llvm::ArrayRef<mlir::AffineExpr> index) const {
  return mlir::AffineMapAttr::get(mlir::AffineMap::get(indexDims_, 0, index, context_));
}

/// Loops over the result as it lies in memory; `logical_` is the result's index by loop.
void MapNest::planLoops() {
  llvm::ArrayRef<int64_t> shape = tensorOf(resultsOf(op_)[0]).getShape();
  bool padded = false;
  for (auto [i, size] : llvm::enumerate(shape)) {
    logical_.push_back(dim(i));
    loops_.push_back(size);
  }
  if (resultLayout_.order == KernelLayout::Order::kChannelBlocks) {
    padded = shape[1] % resultLayout_.block != 0;
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
  channel_ = padded ? logical_[1] : mlir::AffineExpr();
}

/// Makes two loops of one where that rids an access of a division; false when there is none.
bool MapNest::splitLoop() {
  std::optional<LoopSplit> split;
  for (auto& [key, access] : accesses_) {
    split = split ? split : splitFor(access.offset, loops_);
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

/// Offset in memory of the element `index` of a tensor. A blocked operand has the result's
/// channels in the result's blocks, so that its blocks are walked by the result's loops.
mlir::AffineExpr MapNest::offsetOf(mlir::RankedTensorType type,
                                   llvm::ArrayRef<mlir::AffineExpr> index, KernelLayout layout) {
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
  mlir::AffineExpr offset = mlir::getAffineConstantExpr(0, context_);
  for (auto [expr, size] : llvm::zip(physical, dims)) {
    offset = offset * size + expr;
  }
  return withoutDivisions(mlir::simplifyAffineExpr(offset, loops_.size(), 0), loops_);
}

void MapNest::need(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index) {
  needed_[value].insert({keyOf(index), Index(index)});
}

/// Finds which values are needed at which indices (last operation first), and the accesses they end
/// in.
void MapNest::planValues() {
  indexDims_ = loops_.size();
  needed_.clear();
  accesses_.clear();
  for (mlir::Value result : resultsOf(op_)) {
    need(result, logical_);
  }
  llvm::SmallVector<mlir::Operation*> body = mapBody(op_);
  for (mlir::Operation* inner : llvm::reverse(body)) {
    for (auto& [key, index] : llvm::to_vector(needed_[inner->getResult(0)])) {
      if (llvm::isa<ir::ConstantOp>(inner)) {
        continue;
      }
      llvm::SmallVector<Index> operands = indicesOf(inner, index);
      unsigned count = isMovement(inner) ? 1 : inner->getNumOperands();
      for (unsigned i = 0; i < count; ++i) {
        need(inner->getOperand(i), operands[i]);
      }
    }
  }
  for (auto [i, operand] : llvm::enumerate(inputs())) {
    for (auto& [key, index] : needed_[operand]) {
      if (!splatValue(operand)) {
        auto type = tensorOf(operand);
        accesses_[{operand, key}] = {static_cast<unsigned>(i), type.getElementType(),
                                     offsetOf(type, index, operandLayouts_[i])};
      }
    }
  }
  auto type = tensorOf(resultsOf(op_)[0]);
  store_ = offsetOf(type, logical_, resultLayout_);
  moves_ = !channel_ && llvm::all_of(mapBody(op_), isMovement) &&
           llvm::none_of(inputs(), [&](mlir::Value input) {
             return !needed_[input].empty() && splatValue(input);
           });
}

llvm::SmallVector<mlir::Value> MapNest::inputs() const {
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op_)) {
    return llvm::to_vector(llvm::map_range(group.getBody().front().getArguments(),
                                           [](mlir::BlockArgument a) -> mlir::Value { return a; }));
  }
  return llvm::to_vector(op_->getOperands());
}

llvm::SmallVector<mlir::Value> MapNest::results() const { return resultsOf(op_); }

/// Drops loops of one iteration and merges neighbours that every access walks as one.
void MapNest::mergeLoops() {
  llvm::SmallVector<mlir::AffineExpr*> offsets;
  for (auto& [key, access] : accesses_) {
    offsets.push_back(&access.offset);
  }
  offsets.push_back(&store_);
  if (channel_) {
    offsets.push_back(&channel_);
  }
  llvm::SmallVector<llvm::SmallVector<int64_t>> all;
  for (mlir::AffineExpr* offset : offsets) {
    auto flat = coefficientsOf(*offset, loops_.size());
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
  auto rebuild = [&](mlir::AffineExpr& offset, int64_t constant, llvm::ArrayRef<int64_t> list) {
    mlir::AffineExpr expr = mlir::getAffineConstantExpr(constant, context_);
    for (auto [i, coefficient] : llvm::enumerate(llvm::reverse(list))) {
      expr = expr + dim(i) * coefficient;
    }
    offset = expr;
  };
  for (auto [offset, flat, list] : llvm::zip(offsets, all, merged)) {
    rebuild(*offset, flat.back(), list);
  }
  loops_.assign(sizes.rbegin(), sizes.rend());
}

mlir::Type MapNest::valueType(mlir::Type element) const {
  return moves_ ? memoryType(element) : computeType(element);
}

llvm::SmallVector<mlir::Value> MapNest::emit(mlir::OpBuilder& builder, mlir::Location loc,
                                             int64_t lanes, Load load, Before before,
                                             const Scalars* scalars) {
  llvm::DenseMap<Key, mlir::Value> values;
  auto constant = [&](mlir::Value value, double number) -> mlir::Value {
    mlir::Type type = laneType(computeType(tensorOf(value).getElementType()), lanes);
    mlir::Value scalar = scalars != nullptr ? scalars->lookup(value) : mlir::Value();
    if (!scalar) {
      return emitConstant(builder, loc, type, number);
    }
    return lanes > 1 ? builder.create<mlir::vector::BroadcastOp>(loc, type, scalar) : scalar;
  };
  for (mlir::Value input : inputs()) {
    for (auto& [key, index] : needed_[input]) {
      std::optional<double> splat = splatValue(input);
      values[{input, key}] = splat ? constant(input, *splat) : load(accesses_[{input, key}]);
    }
  }
  for (mlir::Operation* inner : mapBody(op_)) {
    mlir::Value result = inner->getResult(0);
    for (auto& [key, index] : needed_[result]) {
      if (llvm::isa<ir::ConstantOp>(inner)) {
        values[{result, key}] = constant(result, splatValue(result).value_or(0));
        continue;
      }
      llvm::SmallVector<Index> operands = indicesOf(inner, index);
      if (isMovement(inner)) {
        values[{result, key}] = values[{inner->getOperand(0), keyOf(operands[0])}];
        continue;
      }
      llvm::SmallVector<mlir::Value> arguments;
      for (auto [operand, at] : llvm::zip(inner->getOperands(), operands)) {
        arguments.push_back(values[{operand, keyOf(at)}]);
      }
      if (before) {
        before(inner, arguments);
      }
      values[{result, key}] = emitScalar(builder, loc, inner, arguments);
    }
  }
  mlir::Attribute resultKey = needed_[resultsOf(op_)[0]].front().first;
  return llvm::to_vector(llvm::map_range(
      resultsOf(op_), [&](mlir::Value result) { return values[{result, resultKey}]; }));
}

}  // namespace graphrun::devices::codegen
