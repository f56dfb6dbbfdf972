#include "passes/group_rules.h"

#include "ir/cost.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/quantized_forms.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

constexpr int64_t kCheapFlops = 2;

bool sameDims(llvm::ArrayRef<ir::Dim> a, llvm::ArrayRef<ir::Dim> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return provablyEqual(std::get<0>(pair), std::get<1>(pair));
         });
}

/// One value, or one for each element of dim `axis` of a tensor of these dims.
bool isScalarOrPerChannel(mlir::Value value, llvm::ArrayRef<ir::Dim> dims, int64_t axis) {
  std::optional<ir::Dims> own = ir::dimsOf(value);
  if (!own || own->size() > dims.size()) {
    return false;
  }
  size_t offset = dims.size() - own->size();
  for (auto [i, dim] : llvm::enumerate(*own)) {
    bool isChannel = static_cast<int64_t>(offset + i) == axis;
    if (!provablyEqual(dim, ir::Dim(1)) && !(isChannel && provablyEqual(dim, dims[offset + i]))) {
      return false;
    }
  }
  return true;
}

/// Generated code computes in all of them.
bool hasComputedTypes(mlir::Operation* op) {
  auto isComputed = [](mlir::Type type) {
    return ir::isComputed(llvm::cast<mlir::ShapedType>(type).getElementType());
  };
  return llvm::all_of(op->getOperandTypes(), isComputed) &&
         llvm::all_of(op->getResultTypes(), isComputed);
}

llvm::SmallVector<int64_t> withoutOnes(mlir::Type type) {
  return llvm::to_vector(llvm::make_filter_range(llvm::cast<mlir::ShapedType>(type).getShape(),
                                                 [](int64_t dim) { return dim != 1; }));
}

bool onlyAddsOrDropsOnes(ir::ReshapeOp op) {
  return constantOf(op.getShape()) &&
         withoutOnes(op.getInput().getType()) == withoutOnes(op.getType());
}

/// Before or behind a transposition of parts of dims, whose result has the rank that was there: a
/// shuffle of channels, or from channels to positions and back.
bool cutsForTranspose(ir::ReshapeOp op) {
  constexpr int64_t kLeastRank = 4;
  auto shuffles = [](ir::ReshapeOp before, mlir::Operation* between, ir::ReshapeOp behind) {
    return before && behind && llvm::isa<ir::TransposeOp>(between) && before->hasOneUse() &&
           between->hasOneUse() && constantOf(before.getShape()) && constantOf(behind.getShape()) &&
           before.getInput().getType().getRank() >= kLeastRank &&
           before.getInput().getType().getRank() == behind.getType().getRank();
  };
  mlir::Operation* source = op.getInput().getDefiningOp();
  mlir::Operation* user = op->hasOneUse() ? *op->user_begin() : nullptr;
  auto reshapeOf = [](mlir::Operation* found) {
    return llvm::dyn_cast_or_null<ir::ReshapeOp>(found);
  };
  return (source != nullptr && source->getNumOperands() > 0 &&
          shuffles(reshapeOf(source->getOperand(0).getDefiningOp()), source, op)) ||
         (user != nullptr && user->hasOneUse() &&
          shuffles(op, user, reshapeOf(*user->user_begin())));
}

/// canFollowAnchor; where it does not need constants, a channel's value may be computed.
bool follows(mlir::Operation* op, mlir::Value chain, int64_t channelAxis, bool needsConstants) {
  if (!op->hasTrait<ir::MayBePostOp>() || op->getResult(0).getType() != chain.getType()) {
    return false;
  }
  if (op->getNumOperands() == 1) {
    return true;
  }
  bool left = op->getOperand(0) == chain;
  if (!left && !op->hasTrait<mlir::OpTrait::IsCommutative>()) {
    return false;
  }
  mlir::Value other = op->getOperand(left ? 1 : 0);
  std::optional<ir::Dims> dims = ir::dimsOf(chain);
  std::optional<ir::Dims> otherDims = ir::dimsOf(other);
  if (!dims || !otherDims || other == chain) {
    return false;
  }
  if ((!needsConstants || weightOf(other)) && isScalarOrPerChannel(other, *dims, channelAxis)) {
    return true;
  }
  // A slope of a whole tensor is no library's post-operation.
  return sameDims(*dims, *otherDims) && !llvm::isa<ir::PReluOp>(op);
}

/// Part of a weight that devices lay out at load, where it must stand alone.
bool dequantizesWeight(mlir::Operation* op) {
  std::optional<DequantizedFloats> floats = dequantizedFloatsOf(op->getResult(0));
  return floats && constantOf(floats->elements);
}

bool hasConstantOperands(mlir::Operation* op) {
  return llvm::all_of(op->getOperands().drop_front(), constantOf);
}

}  // namespace

bool canFollowAnchor(mlir::Operation* op, mlir::Value chain, int64_t channelAxis) {
  return follows(op, chain, channelAxis, /*needsConstants=*/true);
}

bool canFollowSums(mlir::Operation* op, mlir::Value chain, int64_t channelAxis) {
  mlir::Type from = mlir::getElementTypeOrSelf(chain.getType());
  if (auto cast = llvm::dyn_cast<ir::CastOp>(op)) {
    return ((from.isInteger(32) || isByte(from)) && cast.getTo().isF32()) || storesBytes(cast);
  }
  bool computes = from.isF32() || (from.isInteger(32) && llvm::isa<ir::AddOp, ir::SubOp>(op));
  return computes && follows(op, chain, channelAxis, /*needsConstants=*/false);
}

bool canBeSeenThrough(mlir::Operation* op) {
  if (!ir::hasStaticShapes(op)) {
    return false;
  }
  if (llvm::isa<ir::TransposeOp, ir::SqueezeOp, ir::UnsqueezeOp, ir::SplitOp>(op)) {
    return true;
  }
  if (auto cast = llvm::dyn_cast<ir::CastOp>(op)) {
    auto isRead = [](mlir::Type type) { return type.isF32() || type.isBF16(); };
    return isRead(cast.getTo()) && isRead(mlir::getElementTypeOrSelf(cast.getInput().getType()));
  }
  if (auto gather = llvm::dyn_cast<ir::GatherOp>(op)) {
    auto index = llvm::cast<mlir::RankedTensorType>(gather.getIndices().getType());
    return index.getRank() == 0 && hasConstantOperands(op);
  }
  return llvm::isa<ir::ReshapeOp, ir::SliceOp>(op) && hasConstantOperands(op);
}

bool canJoinMap(mlir::Operation* op) {
  if (op->getNumResults() != 1 || !ir::hasStaticShapes(op) || !hasComputedTypes(op) ||
      dequantizesWeight(op)) {
    return false;
  }
  if (op->hasTrait<ir::IsElementwise>() ||
      llvm::isa<ir::SqueezeOp, ir::UnsqueezeOp, ir::TransposeOp>(op)) {
    return true;
  }
  if (auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op)) {
    return onlyAddsOrDropsOnes(reshape) || cutsForTranspose(reshape);
  }
  return llvm::isa<ir::ExpandOp, ir::SliceOp, ir::TileOp>(op) && hasConstantOperands(op);
}

bool isCheapIn(mlir::Operation* op, mlir::Type result) {
  int64_t own = llvm::cast<mlir::ShapedType>(op->getResult(0).getType()).getNumElements();
  int64_t evaluated = llvm::cast<mlir::ShapedType>(result).getNumElements();
  return evaluated <= own || llvm::cast<ir::GrOpInterface>(op).cost().flops <= kCheapFlops * own;
}

}  // namespace graphrun::passes
