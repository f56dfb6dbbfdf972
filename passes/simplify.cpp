// gr-simplify-graph: what folders cannot do, since it makes new operations.
#include "ir/builders.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/empty_tensors.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/rewrite.h"
#include "passes/spell_out.h"
#include "passes/weights.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_SIMPLIFYGRAPH
#include "passes/passes.h.inc"

namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

/// So far back patterns look along a chain of operations, at each of them.
constexpr int kMaxHops = 32;

/// Every dim of both types is known to be the same number.
bool sameShape(mlir::Type a, mlir::Type b) {
  std::optional<ir::Dims> x = ir::dimsOf(a);
  std::optional<ir::Dims> y = ir::dimsOf(b);
  return x && y && x->size() == y->size() && llvm::all_of(llvm::zip(*x, *y), [](auto pair) {
           return provablyEqual(std::get<0>(pair), std::get<1>(pair));
         });
}

bool isStatic(mlir::Type type) { return llvm::cast<mlir::ShapedType>(type).hasStaticShape(); }

/// transpose(transpose(x, p), q) = transpose(x, p[q])
struct MergeTransposes : mlir::OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ir::TransposeOp>();
    if (!inner) {
      return mlir::failure();
    }
    llvm::SmallVector<int64_t> permutation;
    for (int64_t from : op.getPermutation()) {
      permutation.push_back(inner.getPermutation()[from]);
    }
    rewriter.replaceOpWithNewOp<ir::TransposeOp>(op, op.getType(), inner.getInput(), permutation);
    return mlir::success();
  }
};

/// x * transpose(y) reads y the other way round, where only its last two dims are swapped.
struct TransposeInMatMul : mlir::OpRewritePattern<ir::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatMulOp op, PatternRewriter& rewriter) const override {
    auto transpose = op.getRhs().getDefiningOp<ir::TransposeOp>();
    if (!transpose || !swapsLastTwo(transpose.getPermutation())) {
      return mlir::failure();
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getRhsMutable().assign(transpose.getInput());
      op.setTransposeRhs(!op.getTransposeRhs());
    });
    return mlir::success();
  }

  static bool swapsLastTwo(llvm::ArrayRef<int64_t> permutation) {
    auto rank = static_cast<int64_t>(permutation.size());
    return rank >= 2 && permutation[rank - 1] == rank - 2 && permutation[rank - 2] == rank - 1 &&
           llvm::equal(permutation.drop_back(2), llvm::seq<int64_t>(0, rank - 2));
  }
};

/// x for a chain of reshapes that ends in x's own shape.
struct DropRoundTrip : mlir::RewritePattern {
  explicit DropRoundTrip(mlir::MLIRContext* context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}
  LogicalResult matchAndRewrite(mlir::Operation* op, PatternRewriter& rewriter) const override {
    if (!ir::isView(op)) {
      return mlir::failure();
    }
    mlir::Type type = op->getResult(0).getType();
    mlir::Operation* at = op;
    for (int i = 0; i < kMaxHops && ir::isView(at); ++i, at = at->getOperand(0).getDefiningOp()) {
      mlir::Value input = at->getOperand(0);
      if (input.getType() == type && sameShape(input.getType(), type)) {
        rewriter.replaceOp(op, input);
        return mlir::success();
      }
    }
    return mlir::failure();
  }
};

/// reshape(reshape(x)) = reshape(x): only the last shape counts, where it is static.
struct MergeReshapes : mlir::OpRewritePattern<ir::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReshapeOp op, PatternRewriter& rewriter) const override {
    mlir::Operation* inner = op.getInput().getDefiningOp();
    if (!ir::isView(inner) || !copiesNoDim(op)) {
      return mlir::failure();
    }
    rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(inner->getOperand(0)); });
    return mlir::success();
  }

  /// A 0 in the shape would copy a dim of the shape in between.
  static bool copiesNoDim(ir::ReshapeOp op) {
    std::optional<ir::Dims> shape = ir::elementsOf(op.getShape());
    return op.getAllowZero() || (shape && llvm::none_of(*shape, [](const ir::Dim& dim) {
                                   return !dim.isStatic() || dim.value() == 0;
                                 }));
  }
};

/// A reshape whose result is static reads its shape from a constant, so that what computed it dies.
struct ConstantShape : mlir::OpRewritePattern<ir::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReshapeOp op, PatternRewriter& rewriter) const override {
    if (!isStatic(op.getType())) {
      return mlir::failure();
    }
    llvm::ArrayRef<int64_t> shape = llvm::cast<mlir::ShapedType>(op.getType()).getShape();
    std::optional<llvm::SmallVector<int64_t>> old = ir::constantInts(op.getShape());
    bool empty = llvm::is_contained(shape, 0);
    if (shape.empty() ||
        (old && llvm::ArrayRef<int64_t>(*old) == shape && (!empty || op.getAllowZero()))) {
      return mlir::failure();
    }
    mlir::Value constant = ir::createInts(rewriter, op.getLoc(), shape);
    rewriter.modifyOpInPlace(op, [&] {
      op.getShapeMutable().assign(constant);
      if (empty) {
        op.setAllowZero(true);
      }
    });
    return mlir::success();
  }
};

/// A reshape or expand whose shape is the input's own, symbol by symbol.
template <typename Op>
struct DropSameShape : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    if (op.getInput().getType() != op.getType() || !sameShape(op.getType(), op.getType())) {
      return mlir::failure();
    }
    rewriter.replaceOp(op, op.getInput());
    return mlir::success();
  }
};

/// f(reshape(product)) = reshape(f(product)) for an element-wise f of one operand, or of another
/// that has the same shape: so f stands right behind the product, which does it on the way. The
/// reshape moves on and ends where it is free.
struct ReshapeLater : mlir::RewritePattern {
  explicit ReshapeLater(mlir::MLIRContext* context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(mlir::Operation* op, PatternRewriter& rewriter) const override {
    if (!op->hasTrait<ir::IsElementwise>() || op->getNumResults() != 1 ||
        op->getNumOperands() > 2) {
      return mlir::failure();
    }
    for (mlir::Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<ir::ReshapeOp>();
      if (reshape && reshape->hasOneUse() && isProduct(reshape.getInput()) &&
          isStatic(operand.getType()) && isStatic(reshape.getInput().getType()) &&
          llvm::all_of(op->getOperands(), [&](mlir::Value other) {
            return other.getType() == op->getResult(0).getType();
          })) {
        moveBehind(op, reshape, rewriter);
        return mlir::success();
      }
    }
    return mlir::failure();
  }

  /// A matmul, or what follows one element by element.
  static bool isProduct(mlir::Value value) {
    for (int i = 0; i < kMaxHops && value.hasOneUse(); ++i) {
      mlir::Operation* op = value.getDefiningOp();
      if (llvm::isa_and_nonnull<ir::MatMulOp>(op)) {
        return true;
      }
      if (op == nullptr || !op->hasTrait<ir::IsElementwise>() || op->getNumOperands() == 0) {
        return false;
      }
      value = op->getOperand(0);
    }
    return false;
  }

  static void moveBehind(mlir::Operation* op, ir::ReshapeOp reshape, PatternRewriter& rewriter) {
    mlir::Type type = reshape.getInput().getType();
    mlir::Location loc = op->getLoc();
    mlir::Value shape =
        ir::createInts(rewriter, loc, llvm::cast<mlir::ShapedType>(type).getShape());
    mlir::Operation* inner = rewriter.clone(*op);
    for (mlir::OpOperand& operand : inner->getOpOperands()) {
      mlir::Value value = operand.get();
      operand.set(value == reshape.getResult()
                      ? reshape.getInput()
                      : rewriter.create<ir::ReshapeOp>(loc, type, value, shape, false).getResult());
    }
    rewriter.moveOpBefore(inner, op);
    inner->getResult(0).setType(type);
    rewriter.replaceOpWithNewOp<ir::ReshapeOp>(op, op->getResult(0).getType(), inner->getResult(0),
                                               reshape.getShape(), reshape.getAllowZero());
  }
};

/// cast(cast(x, wide), to) = cast(x, to) when the first cast loses nothing.
struct MergeCasts : mlir::OpRewritePattern<ir::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::CastOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ir::CastOp>();
    if (!inner || !keepsValues(element(inner.getInput()), element(inner))) {
      return mlir::failure();
    }
    rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(inner.getInput()); });
    return mlir::success();
  }

  static mlir::Type element(mlir::Value value) { return mlir::getElementTypeOrSelf(value); }

  static bool keepsValues(mlir::Type from, mlir::Type to) {
    if (llvm::isa<mlir::FloatType>(from)) {
      return (from.isF16() || from.isBF16() || from.isF32()) &&
             (to.isF64() || (to.isF32() && !from.isF32()));
    }
    return from.isSignlessInteger() && to.isSignlessInteger() && !from.isInteger(1) &&
           from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  }
};

/// relu(relu(x)) = relu(x), and the same of abs, floor, ceil, round and sign.
template <typename Op>
struct DropRepeated : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    if (!op.getInput().template getDefiningOp<Op>() || op.getInput().getType() != op.getType()) {
      return mlir::failure();
    }
    rewriter.replaceOp(op, op.getInput());
    return mlir::success();
  }
};

/// neg(neg(x)) = x
struct DropDoubleNeg : mlir::OpRewritePattern<ir::NegOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::NegOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ir::NegOp>();
    if (!inner || inner.getInput().getType() != op.getType()) {
      return mlir::failure();
    }
    rewriter.replaceOp(op, inner.getInput());
    return mlir::success();
  }
};

/// clip(clip(x, a, b), c, d) = clip(x, clip(a, c, d), clip(b, c, d))
struct MergeClips : mlir::OpRewritePattern<ir::ClipOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ClipOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ir::ClipOp>();
    double low = op.getLow().convertToDouble();
    double high = op.getHigh().convertToDouble();
    if (!inner || !(low <= high)) {
      return mlir::failure();
    }
    auto limit = [&](const llvm::APFloat& value) {
      return rewriter.getF64FloatAttr(std::min(std::max(value.convertToDouble(), low), high));
    };
    rewriter.replaceOpWithNewOp<ir::ClipOp>(op, op.getType(), inner.getInput(),
                                            limit(inner.getLow()), limit(inner.getHigh()));
    return mlir::success();
  }
};

/// The y of y / 6 and y * (1 / 6); null when `value` is something else.
mlir::Value sixfoldOf(mlir::Value value) {
  if (auto div = value.getDefiningOp<ir::DivOp>()) {
    return isNumber(div.getRhs(), 6) ? div.getLhs() : mlir::Value();
  }
  auto mul = value.getDefiningOp<ir::MulOp>();
  if (mul && isNumber(mul.getRhs(), 1.0 / 6)) {
    return mul.getLhs();
  }
  return mul && isNumber(mul.getLhs(), 1.0 / 6) ? mul.getRhs() : mlir::Value();
}

/// The x of min(max(x + 3, 0), 6), or of a sixth of that (also as a hard_sigmoid) when `unit` is
/// set (the result is then x in [0, 1]); null when `value` is neither.
mlir::Value hardSigmoidInput(mlir::Value value, bool& unit) {
  if (auto gate = value.getDefiningOp<ir::HardSigmoidOp>()) {
    unit = true;
    // Files hold attributes as f32: none of them is a sixth.
    double roundoff = roundoffOf(mlir::Float32Type::get(gate.getContext()));
    bool fits = std::abs(gate.getAlpha().convertToDouble() - 1.0 / 6) <= roundoff / 6 &&
                gate.getBeta().convertToDouble() == 0.5;
    return fits ? gate.getInput() : mlir::Value();
  }
  mlir::Value sixfold = sixfoldOf(value);
  unit = sixfold != nullptr;
  auto clip = (unit ? sixfold : value).getDefiningOp<ir::ClipOp>();
  auto shift = clip ? clip.getInput().getDefiningOp<ir::AddOp>() : nullptr;
  if (!shift || clip.getLow().convertToDouble() != 0 || clip.getHigh().convertToDouble() != 6) {
    return {};
  }
  if (isNumber(shift.getRhs(), 3)) {
    return shift.getLhs();
  }
  return isNumber(shift.getLhs(), 3) ? shift.getRhs() : mlir::Value();
}

/// The x of x * gate(x), in either order of operands; null when `product` is something else.
mlir::Value gatedInput(ir::MulOp product, bool& unit) {
  for (auto [x, gate] : {std::pair(product.getLhs(), product.getRhs()),
                         std::pair(product.getRhs(), product.getLhs())}) {
    if (mlir::Value input = hardSigmoidInput(gate, unit); input && input == x) {
      return x;
    }
  }
  return {};
}

/// The x of x * min(max(x + 3, 0), 6); null when `value` is something else.
mlir::Value sixfoldHardSwishInput(mlir::Value value) {
  auto product = value.getDefiningOp<ir::MulOp>();
  bool unit = false;
  mlir::Value x = product ? gatedInput(product, unit) : mlir::Value();
  return unit ? mlir::Value() : x;
}

LogicalResult replaceByHardSwish(mlir::Operation* op, mlir::Value x, PatternRewriter& rewriter) {
  if (!x || x.getType() != op->getResult(0).getType() || !mayBecomeOne(op, x)) {
    return mlir::failure();
  }
  rewriter.replaceOpWithNewOp<ir::HardSwishOp>(op, op->getResult(0).getType(), x);
  return mlir::success();
}

/// x * hard_sigmoid(x) and (x * min(max(x + 3, 0), 6)) * (1 / 6)
struct RaiseHardSwish : mlir::OpRewritePattern<ir::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MulOp op, PatternRewriter& rewriter) const override {
    bool unit = false;
    mlir::Value x = gatedInput(op, unit);
    if (!unit) {
      x = isNumber(op.getRhs(), 1.0 / 6)   ? sixfoldHardSwishInput(op.getLhs())
          : isNumber(op.getLhs(), 1.0 / 6) ? sixfoldHardSwishInput(op.getRhs())
                                           : mlir::Value();
    }
    return replaceByHardSwish(op, x, rewriter);
  }
};

/// (x * min(max(x + 3, 0), 6)) / 6
struct RaiseDividedHardSwish : mlir::OpRewritePattern<ir::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::DivOp op, PatternRewriter& rewriter) const override {
    mlir::Value x = isNumber(op.getRhs(), 6) ? sixfoldHardSwishInput(op.getLhs()) : mlir::Value();
    return replaceByHardSwish(op, x, rewriter);
  }
};

/// A recurrent layer that is computed once more, with its sums kept for gradients, is computed
/// once.
struct KeepSumsOnce : mlir::OpRewritePattern<ir::RecurrentOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::RecurrentOp op, PatternRewriter& rewriter) const override {
    if (op.getKeepSums()) {
      return mlir::failure();
    }
    for (mlir::Operation* user : op.getInput().getUsers()) {
      auto kept = llvm::dyn_cast<ir::RecurrentOp>(user);
      if (kept && kept.getKeepSums() && isSameLayer(op, kept)) {
        rewriter.moveOpBefore(kept, op);
        rewriter.replaceOp(op, kept->getResults().take_front(op->getNumResults()));
        return mlir::success();
      }
    }
    return mlir::failure();
  }

 private:
  static bool isSameLayer(ir::RecurrentOp op, ir::RecurrentOp kept) {
    if (op->getBlock() != kept->getBlock() || op->getOperands() != kept->getOperands()) {
      return false;
    }
    mlir::NamedAttrList wanted(op->getAttrDictionary());
    wanted.set("keep_sums", mlir::BoolAttr::get(op.getContext(), true));
    return wanted.getDictionary(op.getContext()) == kept->getAttrDictionary();
  }
};

struct SimplifyGraphPass : impl::SimplifyGraphBase<SimplifyGraphPass> {
  LogicalResult initialize(mlir::MLIRContext* context) override {
    mlir::RewritePatternSet patterns(context);
    patterns
        .add<MergeTransposes, TransposeInMatMul, ReshapeLater, DropRoundTrip, MergeReshapes,
             ConstantShape, DropSameShape<ir::ReshapeOp>, DropSameShape<ir::ExpandOp>, MergeCasts,
             DropRepeated<ir::ReluOp>, DropRepeated<ir::AbsOp>, DropRepeated<ir::FloorOp>,
             DropRepeated<ir::CeilOp>, DropRepeated<ir::RoundOp>, DropRepeated<ir::SignOp>,
             DropDoubleNeg, MergeClips, RaiseHardSwish, RaiseDividedHardSwish, KeepSumsOnce>(
            context);
    addEmptyTensorPatterns(patterns);
    addSpellOutPatterns(patterns);
    patterns_ = std::move(patterns);
    return mlir::success();
  }

  void runOnOperation() override {
    if (mlir::failed(rewriteGreedily(getOperation(), patterns_, "simplification"))) {
      signalPassFailure();
    }
  }

  mlir::FrozenRewritePatternSet patterns_;
};

}  // namespace
}  // namespace graphrun::passes
